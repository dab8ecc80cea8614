import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import {
  answerOf,
  bodyOf,
  faultOf,
  hello,
  json,
  makeUpstream,
  openTurn,
  sse,
  startUpstream,
  textOf,
  turn,
  untilIdle,
  word,
  words,
} from "../../../test/support/http-upstream.ts";
import { stillClock } from "../../../test/support/still-clock.ts";
import type { HttpOptions } from "./http.ts";
import { fetchTransport } from "./fetch-transport.ts";

const connect = fetchTransport((url, init) => fetch(url, init));
const start = (listener: Parameters<typeof startUpstream>[0], more: Partial<HttpOptions> = {}) =>
  startUpstream(listener, { connect, ...more });

/** Waits for what other sockets of this process do. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

describe("an upstream that is asked with fetch", () => {
  it("sends the request as it is written and reads the stream as it comes", async () => {
    let seen = "";
    const { upstream } = await start(async (request, response) => {
      seen = `${request.method} ${request.url} ${String(request.headers["x-request-id"])} ${await bodyOf(request)}`;
      sse(response, hello);
      response.end();
    });
    const heard = openTurn(upstream);
    await heard.ended;
    expect(words(heard)).toEqual(["Hello", ", world"]);
    expect(seen).toMatch(/^POST \/v1\/chat\/completions req_7 \{.*"model":"m-1"/);
    expect(heard.events.at(-1)).toMatchObject({ type: "turn-end" });
  });

  it("puts characters together that were cut between two reads", async () => {
    const bytes = Buffer.from(word("größer 🦔") + hello);
    const { upstream } = await start(async (_, response) => {
      sse(response);
      for (const byte of bytes) {
        response.write(Uint8Array.of(byte));
        if (byte > 127) await untilIdle();
      }
      response.end();
    });
    expect(textOf(await answerOf(upstream))).toBe("größer 🦔Hello, world");
  });

  it("takes an answer that the runtime has decompressed", async () => {
    const { upstream } = await start((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
      response.end(gzipSync(hello));
    });
    expect(textOf(await answerOf(upstream))).toBe("Hello, world");
  });

  it("lists models, and says why not in the upstream's words", async () => {
    const { upstream } = await start((request, response) =>
      request.url === "/v1/models"
        ? json(response, 200, { data: [{ id: "m" }] })
        : json(response, 403, { error: { message: "not yours" } }),
    );
    expect(await upstream.models?.()).toEqual(["m"]);
    const barred = await start((_, response) => json(response, 403, { error: { message: "no" } }));
    await expect(barred.upstream.models?.()).rejects.toThrow("(403): no");
  });

  it("tries again what may get better", async () => {
    let asked = 0;
    const { upstream, clock } = await start((_, response) => {
      if (asked++ === 0) return json(response, 503, {}, { "retry-after": "3" });
      sse(response, hello);
      response.end();
    });
    const heard = openTurn(upstream, { retry: true });
    await until(() => asked === 1 && clock.waiting() === 1);
    await untilIdle();
    clock.move(3_000);
    await heard.ended;
    expect(words(heard)).toEqual(["Hello", ", world"]);
  });

  it("is not sent elsewhere", async () => {
    const { upstream } = await start((_, response) =>
      response.writeHead(307, { location: "http://127.0.0.1:1/other" }).end(),
    );
    const fault = await faultOf(upstream);
    expect(fault.message).toContain("redirected the request (307): to http://127.0.0.1:1/other");
  });
});

describe("an upstream that is asked with fetch and fails", () => {
  it("is unreachable where nothing listens, with the runtime's own reason", async () => {
    const { upstream, server } = await start(() => {});
    await server[Symbol.asyncDispose]();
    const { code, message } = await faultOf(upstream);
    expect(code).toBe("upstream.unreachable");
    expect(message).toContain("nothing listens there (ECONNREFUSED)");
  });

  it("is unreachable where the runtime gives no reason", async () => {
    const broken = fetchTransport(() => Promise.reject(new TypeError("Load failed")));
    const { code } = await faultOf(makeUpstream("http://127.0.0.1:1/v1", { connect: broken }));
    expect(code).toBe("upstream.unreachable");
  });

  it("is cut where the connection closes in mid-answer", async () => {
    const { upstream } = await start((_, response) => {
      sse(response, word("a"));
      setImmediate(() => response.destroy());
    });
    expect((await faultOf(upstream)).code).toBe("upstream.cut");
  });

  it("is late where no answer begins, and silent where none goes on", async () => {
    const timeouts = { headers: 1_000, idle: 500 };
    let asked = 0;
    const late = await start(() => void asked++, { timeouts });
    const waited = openTurn(late.upstream);
    await until(() => asked === 1);
    late.clock.move(1_000);
    await waited.ended;
    expect(waited.events).toMatchObject([{ fault: { code: "upstream.headers_timeout" } }]);

    const silent = await start((_, response) => sse(response, word("a")), { timeouts });
    const heard = openTurn(silent.upstream);
    await until(() => heard.events.length > 0);
    await untilIdle();
    silent.clock.move(500);
    await heard.ended;
    expect(heard.events.at(-1)).toMatchObject({ fault: { code: "upstream.idle_timeout" } });
  });

  it("ends one turn where whoever listens is broken", async () => {
    const { upstream } = await start((_, response) => sse(response, word("a")));
    const heard: string[] = [];
    const ended = Promise.withResolvers<void>();
    const { profile } = upstream;
    upstream.prepare(turn, { model: "m", profile, straight: false }).open({
      retry: true,
      requestId: "r",
      tenant: "",
    })({
      each(event) {
        heard.push(event.type === "turn-fail" ? event.fault.code : event.type);
        if (heard.length === 1) throw new TypeError("a bug");
      },
      flush() {},
      end: () => ended.resolve(),
    });
    await ended.promise;
    expect(heard).toEqual(["turn-start", "gateway.internal"]);
  });

  it("cannot go through a proxy, and says so when it is opened", () => {
    expect(() =>
      makeUpstream("http://a.example/v1", { connect, proxy: new URL("http://p.example:3128") }),
    ).toThrow("The proxy p.example:3128 cannot be used here");
  });
});

describe("the flow of an upstream that is asked with fetch", () => {
  it("reads no further while it is paused", async () => {
    const frame = word("x".repeat(64 * 1024));
    let sent = 0;
    let isFull = false;
    const { upstream } = await start(async (_, response) => {
      sse(response);
      for (; sent < 2_000 && !response.destroyed; sent++)
        if (!response.write(frame)) {
          const drained = new Promise((resolve) => response.once("drain", resolve));
          isFull = true;
          await drained;
          isFull = false;
        }
      response.end(hello);
    });
    const heard = openTurn(upstream);
    await until(() => heard.events.length > 0);
    heard.flow.pause();
    await until(() => isFull);
    for (let looks = 0; looks < 20; looks++) await untilIdle();
    const [before, events] = [sent, heard.events.length];
    for (let looks = 0; looks < 5; looks++) await untilIdle();
    expect([sent, heard.events.length]).toEqual([before, events]);
    expect(sent).toBeLessThan(1_000);
    heard.flow.resume();
    await heard.ended;
    expect(heard.events.at(-1)).toMatchObject({ type: "turn-end" });
  });

  it("closes the connection when it is stopped", async () => {
    const left = Promise.withResolvers<void>();
    const { upstream } = await start((_, response) => {
      response.on("close", left.resolve);
      sse(response, word("a"));
    });
    const heard = openTurn(upstream);
    await until(() => heard.events.length > 0);
    heard.flow.stop();
    await left.promise;
    expect(heard.ends).toBe(0);
  });

  it("is let end by a close, which waits ten seconds and no longer", async () => {
    const { upstream, clock } = await start((_, response) => sse(response, word("a")));
    const heard = openTurn(upstream);
    await until(() => heard.events.length > 0);
    let isClosed = false;
    const closed = upstream.close().then(() => (isClosed = true));
    clock.move(9_999);
    await untilIdle();
    expect(isClosed).toBe(false);
    clock.move(1);
    await closed;
    await heard.ended;
    expect(heard.events.at(-1)).toMatchObject({ fault: { code: "gateway.stopping" } });
    expect((await faultOf(upstream)).code).toBe("gateway.stopping");
  });

  it("needs no time to close when nothing runs", async () => {
    const clock = stillClock();
    await makeUpstream("http://127.0.0.1:1/v1", { connect, clock }).close();
    expect(clock.waiting()).toBe(0);
  });
});
