import { createServer } from "node:net";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import {
  answerOf,
  chunk,
  closeAfterTest,
  faultOf,
  frame,
  openTurn,
  hello,
  startUpstream,
  json,
  makeUpstream,
  sse,
  textOf,
  turn,
  word,
  words,
} from "../../../test/support/http-upstream.ts";
import { until, loopback } from "../../../test/support/loopback.ts";

describe("an upstream that fails", () => {
  it("is unreachable when nothing listens, and says which and where", async () => {
    const server = await loopback(() => {});
    await server[Symbol.asyncDispose]();
    const fault = await faultOf(makeUpstream(server.url));
    expect(fault).toMatchObject({ code: "upstream.unreachable", status: 502 });
    expect(fault.message).toContain("`box`");
    expect(fault.message).toContain(server.url);
    expect(fault.message).toContain("ECONNREFUSED");
  });

  it("is unreachable when its name cannot be resolved", async () => {
    const fault = await faultOf(makeUpstream("http://no-such-host.invalid"));
    expect(fault.code).toBe("upstream.unreachable");
    expect(fault.message).toContain("resolved");
  });

  it("is not asked twice when the request itself cannot be written", async () => {
    const { upstream, clock } = await startUpstream(() => {}, { headers: { "x-team": "a\nb" } });
    const fault = await faultOf(upstream, { retry: true });
    expect(fault.code).toBe("upstream.unreachable");
    expect(fault.message).toContain("bad character");
    expect(clock.waiting()).toBe(0);
  });

  it.each(["100 Continue", "101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c"])(
    "is malformed when it says first what nobody asked for: %s",
    async (said) => {
      const { upstream } = await startUpstream(
        ({ socket }) => void socket.write(`HTTP/1.1 ${said}\r\n\r\n`),
      );
      const fault = await faultOf(upstream);
      expect(fault).toMatchObject({ code: "upstream.malformed", mayRetry: false });
      expect(fault.message).toContain("interim HTTP status");
    },
  );

  it("is malformed when it speaks no HTTP", async () => {
    const server = createServer((socket) => void socket.end("SSH-2.0-OpenSSH_9.6\r\n"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    closeAfterTest({ [Symbol.asyncDispose]: async () => void server.close() });
    expect((await faultOf(makeUpstream(`http://127.0.0.1:${port}`))).code).toBe(
      "upstream.malformed",
    );
  });

  it.each([
    [401, { error: { message: "Bad key sk-secret" } }, "upstream.auth", 401],
    [403, { detail: "no" }, "upstream.forbidden", 403],
    [
      404,
      { error: { message: "no such model", code: "model_not_found" } },
      "upstream.not_found",
      404,
    ],
    [408, {}, "upstream.timeout", 408],
    [413, {}, "upstream.too_large", 413],
    [422, { detail: [{ loc: ["body", "n"], msg: "too big" }] }, "upstream.refused", 422],
    [500, { message: "oops" }, "upstream.failed", 502],
    [503, {}, "upstream.overloaded", 503],
    [529, {}, "upstream.overloaded", 503],
  ])("keeps the class of a %i", async (status, body, code, shown) => {
    const { upstream } = await startUpstream((_, response) => json(response, status, body), {
      apiKey: "sk-secret",
    });
    const fault = await faultOf(upstream);
    expect(fault).toMatchObject({ code, status: shown });
    expect(fault.message).toContain("`box`");
    expect(fault.message).not.toContain("sk-secret");
  });

  it("names the remedy for a rejected key", async () => {
    const { upstream } = await startUpstream((_, response) =>
      json(response, 401, { error: { message: "Invalid key." } }),
    );
    expect((await faultOf(upstream)).message).toBe(
      "Upstream `box` rejected its key (401): Invalid key. Check its `api_key`.",
    );
  });

  it("reads no more of an error page than it needs", async () => {
    const { upstream, server } = await startUpstream((_, response) => {
      response.writeHead(500, { "content-type": "text/html" });
      const more = (): void =>
        void (response.destroyed || (response.write("<p>oops ".repeat(8_192)), setImmediate(more)));
      more();
    });
    const fault = await faultOf(upstream);
    expect(fault.code).toBe("upstream.failed");
    expect(fault.message.length).toBeLessThan(500);
    await until(() => server.sockets[0]?.destroyed === true);
  });

  it("is told apart from a web page that happens to answer", async () => {
    const { upstream } = await startUpstream((_, response) =>
      response.end("<!doctype html><title>Hi</title>"),
    );
    const fault = await faultOf(upstream);
    expect(fault).toMatchObject({ code: "upstream.malformed" });
    expect(fault.message).toContain("base_url");
  });

  it("is not followed elsewhere", async () => {
    const { upstream } = await startUpstream((_, response) =>
      response.writeHead(308, { location: "https://a.example/v1" }).end(),
    );
    const fault = await faultOf(upstream);
    expect(fault).toMatchObject({ code: "upstream.failed", status: 502 });
    expect(fault.message).toContain("https://a.example/v1");
  });

  it("times out before its headers", async () => {
    const { upstream } = await startUpstream(() => {}, { timeouts: { headers: 30 } });
    expect((await faultOf(upstream)).code).toBe("upstream.headers_timeout");
  });

  it("times out when it falls silent, after what it had said", async () => {
    const { upstream } = await startUpstream((_, response) => sse(response, word("Hel")), {
      timeouts: { idle: 30 },
    });
    const answer = await answerOf(upstream);
    expect(answer.fault?.code).toBe("upstream.idle_timeout");
    expect(textOf(answer)).toBe("Hel");
  });

  it("is cut when it closes in the middle of a call, which stays incomplete", async () => {
    const { upstream } = await startUpstream((_, response) => {
      const call = {
        index: 0,
        id: "c",
        type: "function",
        function: { name: "f", arguments: '{"a":' },
      };
      sse(response, frame(chunk({ tool_calls: [call] })), 'data: {"choices":[{');
      setImmediate(() => response.destroy());
    });
    const answer = await answerOf(upstream);
    expect(answer.fault?.code).toBe("upstream.cut");
    expect(answer.choices[0]?.items).toMatchObject([
      { type: "call", input: '{"a":', status: "incomplete" },
    ]);
  });

  it("is cut when a body is shorter than it promised", async () => {
    const { upstream } = await startUpstream((_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
      response.write('{"events":[');
      setImmediate(() => response.destroy());
    });
    expect((await faultOf(upstream)).code).toBe("upstream.cut");
  });

  it("reports its own error from inside a stream, without its key", async () => {
    const { upstream } = await startUpstream(
      (_, response) => {
        sse(response, word("a"), frame({ error: { message: "key sk-secret is used up" } }));
        response.end();
      },
      { apiKey: "sk-secret" },
    );
    const fault = await faultOf(upstream);
    expect(fault.code).toBe("upstream.said_error");
    expect(fault.message).toMatch(/key \[redacted\] is used up/);
  });

  it("is empty when it says nothing", async () => {
    const { upstream } = await startUpstream((_, response) => {
      sse(response);
      response.end();
    });
    expect((await faultOf(upstream)).code).toBe("upstream.empty");
  });

  it("says what a text says that stands in its place, without its key", async () => {
    const { upstream } = await startUpstream(
      (_, response) => {
        response.writeHead(200, { "content-type": "text/plain" });
        response.end("No capacity left for sk-secret");
      },
      { apiKey: "sk-secret" },
    );
    const fault = await faultOf(upstream);
    expect(fault.code).toBe("upstream.malformed");
    expect(fault.message).toContain("neither a stream nor JSON: No capacity left for [redacted].");
  });

  it("is malformed when it packs its answer unasked", async () => {
    const { upstream } = await startUpstream((_, response) => {
      response.writeHead(200, { "content-encoding": "gzip" });
      response.end("....");
    });
    expect((await faultOf(upstream)).code).toBe("upstream.malformed");
  });

  it("does not take the process along when whoever listens is broken", async () => {
    const { upstream } = await startUpstream((_, response) => {
      sse(response, word("a"));
    });
    const heard: string[] = [];
    const ended = Promise.withResolvers<void>();
    const source = upstream.prepare(turn, {
      model: "m",
      profile: upstream.profile,
      straight: false,
    });
    source.open({ retry: true, requestId: "r", tenant: "" })({
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
});

describe("trying again", () => {
  it("waits as asked after a 429 and then succeeds", async () => {
    let asked = 0;
    const { upstream, clock } = await startUpstream((_, response) => {
      if (asked++ === 0) return json(response, 429, {}, { "retry-after": "3" });
      sse(response, hello);
      response.end();
    });
    const heard = openTurn(upstream, { retry: true });
    await until(() => clock.waiting() === 1);
    clock.move(2_999);
    expect(clock.waiting()).toBe(1);
    clock.move(1);
    await heard.ended;
    expect(asked).toBe(2);
    expect(words(heard)).toEqual(["Hello", ", world"]);
  });

  it("survives two internal errors, and tells nothing of them", async () => {
    let asked = 0;
    const { upstream, clock } = await startUpstream((_, response) => {
      if (asked++ < 2) return json(response, 500, { error: "flaky" });
      sse(response, hello);
      response.end();
    });
    const heard = openTurn(upstream, { retry: true });
    await until(() => clock.waiting() === 1);
    clock.move(250);
    await until(() => clock.waiting() === 1);
    clock.move(500);
    await heard.ended;
    expect(asked).toBe(3);
    expect(words(heard)).toEqual(["Hello", ", world"]);
  });

  it("comes back after a connection that closed before the first event", async () => {
    let asked = 0;
    const { upstream, clock } = await startUpstream((request, response) => {
      asked++;
      if (asked === 1) request.socket.destroy();
      else if (asked === 2) {
        sse(response, ": one moment\n\n");
        setImmediate(() => response.destroy());
      } else {
        sse(response, hello);
        response.end();
      }
    });
    const heard = openTurn(upstream, { retry: true });
    for (let tries = 0; tries < 2; tries++) {
      await until(() => clock.waiting() === 1);
      clock.move(1_000);
    }
    await heard.ended;
    expect(asked).toBe(3);
    expect(words(heard)).toEqual(["Hello", ", world"]);
  });

  it("never happens after the first event, for a wrong request, or unasked", async () => {
    let asked = 0;
    const cut = await startUpstream((_, response) => {
      asked++;
      sse(response, word("a"));
      setImmediate(() => response.destroy());
    });
    expect((await faultOf(cut.upstream, { retry: true })).code).toBe("upstream.cut");
    const wrong = await startUpstream((_, response) => (asked++, json(response, 400, {})));
    expect((await faultOf(wrong.upstream, { retry: true })).code).toBe("upstream.refused");
    const once = await startUpstream((_, response) => (asked++, json(response, 500, {})));
    expect((await faultOf(once.upstream, { retry: false })).code).toBe("upstream.failed");
    expect(asked).toBe(3);
  });

  it("is not waited for longer than twenty seconds: the client is told instead", async () => {
    const { upstream } = await startUpstream((_, response) =>
      json(response, 429, {}, { "retry-after": "21" }),
    );
    const fault = await faultOf(upstream, { retry: true });
    expect(fault).toMatchObject({ code: "upstream.rate_limited", status: 429 });
    expect(fault.detail.retryAfter).toBe("21");
  });

  it("is called off by a stop", async () => {
    let asked = 0;
    const { upstream, clock } = await startUpstream(
      (_, response) => (asked++, json(response, 503, {})),
    );
    const heard = openTurn(upstream, { retry: true });
    await until(() => clock.waiting() === 1);
    heard.flow.stop();
    expect(clock.waiting()).toBe(0);
    clock.move(60_000);
    expect(asked).toBe(1);
    expect(heard).toMatchObject({ events: [], ends: 0 });
  });
});
