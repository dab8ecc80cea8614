import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:net";
import * as fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { loopback, until, type Loopback } from "../../../test/loopback.ts";
import { stillClock, type StillClock } from "../../../test/still-clock.ts";
import { chat } from "../../dialects/chat/chat.ts";
import { blocks } from "../../stream/blocks.ts";
import type { Flow } from "../../stream/flow.ts";
import { fold, type Answer } from "../../stream/fold.ts";
import { sseDone, sseFrame } from "../../stream/sse.ts";
import { runStage } from "../../stream/stage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Turn } from "../../turn/turn.ts";
import { httpUpstream, type HttpOptions } from "./http.ts";
import { genericChat } from "../profiles/generic-chat.ts";
import type { Upstream } from "../upstream.ts";

type Event = TurnEvent<UpstreamName>;

const turn: Turn<UpstreamName> = {
  dialect: "chat",
  model: "m",
  items: [],
  tools: [],
  params: {},
  stream: true,
  usageWanted: false,
  extra: { dialect: "chat", fields: {} },
  body: {},
};

const chunk = (delta: object, finish_reason: string | null = null): object => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 7,
  model: "m-1",
  choices: [{ index: 0, delta, finish_reason }],
});
const frame = (body: object): string => sseFrame(JSON.stringify(body));
const word = (content: string): string => frame(chunk({ content }));
const stop = frame(chunk({}, "stop"));
const hello = word("Hello") + word(", world") + stop + sseDone;
const completion = {
  id: "chatcmpl-1",
  object: "chat.completion",
  choices: [
    { index: 0, message: { role: "assistant", content: "Hello, world" }, finish_reason: "stop" },
  ],
};
const words = (heard: Heard): string[] =>
  heard.events.flatMap((event) => (event.type === "text-delta" ? [event.text] : []));

const sse = (response: ServerResponse, ...pieces: string[]): void => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const piece of pieces) response.write(piece);
};
const json = (response: ServerResponse, status: number, body: unknown, headers = {}): void =>
  void response
    .writeHead(status, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(body));

let open: AsyncDisposable[] = [];
afterEach(async () => {
  const all = open;
  open = [];
  // Servers first: an upstream waits for the turns under way.
  for (const one of all) await one[Symbol.asyncDispose]();
});

/** Long enough for a connection to be found idle. */
const breath = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));

type House = { upstream: Upstream; server: Loopback; clock: StillClock };

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

async function house(listener: Listener, more: Partial<HttpOptions> = {}): Promise<House> {
  const server = await loopback((request, response) => void listener(request, response));
  const clock = stillClock(1_000);
  const upstream = makeUpstream(`${server.url}/v1`, { clock, ...more });
  open.unshift(server);
  return { upstream, server, clock };
}

function makeUpstream(baseUrl: string, more: Partial<HttpOptions> = {}): Upstream {
  const upstream = httpUpstream({
    name: "box",
    dialect: chat,
    profile: genericChat,
    baseUrl,
    newId: (prefix) => `${prefix}_1`,
    clock: stillClock(),
    random: () => 0.5,
    ...more,
  });
  open.push({ [Symbol.asyncDispose]: () => upstream.close() });
  return upstream;
}

type Heard = { events: Event[]; flushes: number; ends: number; flow: Flow; ended: Promise<void> };

/** Opens a turn and keeps all that it says. */
function hear(
  upstream: Upstream,
  {
    retry = false,
    straight = false,
    asked = turn,
  }: { retry?: boolean; straight?: boolean; asked?: typeof turn } = {},
): Heard {
  const ended = Promise.withResolvers<void>();
  const heard: Omit<Heard, "flow"> = { events: [], flushes: 0, ends: 0, ended: ended.promise };
  const source = upstream
    .prepare(asked, { model: "m-1", straight })
    .open({ retry, requestId: "req_7" });
  const flow = source({
    each: (event) => void heard.events.push(event),
    flush: () => void heard.flushes++,
    end() {
      heard.ends++;
      ended.resolve();
    },
  });
  return Object.assign(heard, { flow });
}

async function answerOf(
  upstream: Upstream,
  options?: Parameters<typeof hear>[1],
): Promise<Answer<UpstreamName>> {
  const heard = hear(upstream, options);
  await heard.ended;
  expect(heard.ends).toBe(1);
  return fold(runStage(blocks<UpstreamName>(), heard.events));
}

async function faultOf(upstream: Upstream, options?: Parameters<typeof hear>[1]): Promise<Fault> {
  const { fault } = await answerOf(upstream, options);
  if (fault === undefined) throw new Error("It did not fail.");
  return fault;
}

const textOf = (answer: Answer<UpstreamName>): string =>
  answer.choices
    .flatMap((choice) => choice.items)
    .flatMap((item) => (item.type === "message" ? item.parts : []))
    .map((part) => ("text" in part ? part.text : ""))
    .join("");

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request) text += String(piece);
  return text;
}

describe("what is sent", () => {
  it("is a POST to the dialect's route with the key, the request id and our name", async () => {
    let seen: { url?: string | undefined; headers?: object; body?: string } = {};
    const { upstream } = await house(
      async (request, response) => {
        seen = { url: request.url, headers: request.headers, body: await bodyOf(request) };
        sse(response, hello);
        response.end();
      },
      { apiKey: "sk-secret\n", headers: { "X-Team": "blue" } },
    );
    await answerOf(upstream);
    expect(seen.url).toBe("/v1/chat/completions");
    expect(seen.headers).toMatchObject({
      authorization: "Bearer sk-secret",
      accept: "text/event-stream",
      "content-type": "application/json",
      "x-request-id": "req_7",
      "x-team": "blue",
      "user-agent": expect.stringMatching(/^patchbay\/\d/),
    });
    expect(JSON.parse(seen.body ?? "")).toMatchObject({ model: "m-1", stream: true });
  });

  it("keeps the query of the base address and lets configured headers win", async () => {
    let seen: IncomingMessage | undefined;
    const server = await loopback((request, response) => {
      seen = request;
      json(response, 200, completion);
    });
    open.unshift(server);
    const upstream = makeUpstream(`${server.url}/deployments/a/?api-version=2`, {
      apiKey: "unused",
      headers: { Authorization: "Basic abc" },
    });
    await answerOf(upstream, { asked: { ...turn, stream: false } });
    expect(seen?.url).toBe("/deployments/a/chat/completions?api-version=2");
    expect(seen?.headers).toMatchObject({ authorization: "Basic abc", accept: "application/json" });
  });

  it("uses a connection again once its answer is over", async () => {
    const { upstream, server } = await house((_, response) => {
      sse(response, hello);
      response.end();
    });
    for (let turns = 0; turns < 3; turns++) {
      expect(textOf(await answerOf(upstream))).toBe("Hello, world");
      await breath();
    }
    expect(server.sockets).toHaveLength(1);
  });
});

describe("what comes back", () => {
  it("is read as frames or as one body by what it is, whatever was asked for", async () => {
    const bodies: [string | undefined, string][] = [
      ["text/event-stream", hello],
      ["application/json", hello],
      [undefined, hello],
      ["text/plain", `\n\n: hi\n\n${hello}`],
      ["application/json; charset=utf-8", JSON.stringify(completion)],
      ["text/event-stream", JSON.stringify(completion)],
      [undefined, `\uFEFF \n${JSON.stringify(completion)}`],
    ];
    let next = 0;
    const { upstream } = await house((_, response) => {
      const [type, body] = bodies[next++] ?? [undefined, ""];
      if (type !== undefined) response.setHeader("content-type", type);
      response.end(body);
    });
    for (const [type] of bodies)
      expect(`${type} ${textOf(await answerOf(upstream))}`).toBe(`${type} Hello, world`);
  });

  it("says frames too when asked to go straight", async () => {
    const { upstream } = await house((_, response) => {
      sse(response, `event: x\n${word("a")}`, stop, sseDone);
      response.end();
    });
    const heard = hear(upstream, { straight: true });
    await heard.ended;
    const frames = heard.events.filter((event) => event.type === "frame");
    expect(frames.map(({ name, data }) => [name, data])).toEqual([
      ["x", JSON.stringify(chunk({ content: "a" }))],
      [undefined, JSON.stringify(chunk({}, "stop"))],
      [undefined, "[DONE]"],
    ]);
  });

  it("is the same for any line ends, comments, marks and byte slices", async () => {
    const text = "Grüße, 世界 👋🏽";
    const chunks = [...Array.from(text, (content) => chunk({ content })), chunk({}, "stop")];
    let bytes: Buffer[] = [];
    const { upstream } = await house(async (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const slice of bytes) {
        response.write(slice);
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("\n", "\r", "\r\n"),
        fc.constantFrom("", "\uFEFF"),
        fc.array(fc.nat(600), { maxLength: 12 }),
        fc.boolean(),
        async (line, mark, cuts, spread) => {
          const frames = chunks.map((body) =>
            spread
              ? `: note${line}data: ${JSON.stringify(body, null, 1).replaceAll("\n", `${line}data:`)}${line}${line}`
              : `data: ${JSON.stringify(body)}${line}${line}`,
          );
          const whole = Buffer.from(mark + frames.join("") + `data: [DONE]${line}${line}`);
          const places = [0, ...cuts.map((cut) => cut % whole.length), whole.length].toSorted(
            (a, b) => a - b,
          );
          bytes = places
            .slice(1)
            .map((to, at) => whole.subarray(places[at], to))
            .filter((slice) => slice.length > 0);
          expect(textOf(await answerOf(upstream))).toBe(text);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("is flushed once for a network read, not once for a frame", async () => {
    const { upstream } = await house((_, response) => {
      response.socket?.cork();
      sse(response, ...Array.from({ length: 200 }, () => word("x")), stop, sseDone);
      response.end();
      response.socket?.uncork();
    });
    const heard = hear(upstream);
    await heard.ended;
    expect(words(heard)).toHaveLength(200);
    expect(heard.flushes).toBeLessThan(10);
  });

  it("ends with the upstream's last word, before the connection does", async () => {
    let response: ServerResponse | undefined;
    const { upstream, server } = await house((_, reply) => {
      response = reply;
      sse(reply, hello);
    });
    const heard = hear(upstream);
    await heard.ended;
    expect(response?.writableEnded).toBe(false);
    response?.end("noise after the end");
    await breath();
    await hear(upstream).ended;
    expect(server.sockets).toHaveLength(1);
  });

  it("gives up a connection that goes on after the last word", async () => {
    const { upstream, server, clock } = await house((_, response) => sse(response, hello));
    await hear(upstream).ended;
    await until(() => clock.waiting() === 1);
    clock.move(2_000);
    await until(() => server.sockets[0]?.destroyed === true);

    const endless = await house((_, response) => {
      sse(response, hello);
      const more = (): void =>
        void (response.destroyed || (response.write("x".repeat(65_536)), setImmediate(more)));
      more();
    });
    const heard = hear(endless.upstream);
    await heard.ended;
    await until(() => endless.server.sockets[0]?.destroyed === true);
    expect(heard.ends).toBe(1);
  });
});

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
    const { upstream, clock } = await house(() => {}, { headers: { "x-team": "a\nb" } });
    const fault = await faultOf(upstream, { retry: true });
    expect(fault.code).toBe("upstream.unreachable");
    expect(fault.message).toContain("bad character");
    expect(clock.waiting()).toBe(0);
  });

  it.each(["100 Continue", "101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c"])(
    "is malformed when it says first what nobody asked for: %s",
    async (said) => {
      const { upstream } = await house(
        ({ socket }) => void socket.write(`HTTP/1.1 ${said}\r\n\r\n`),
      );
      const fault = await faultOf(upstream);
      expect(fault).toMatchObject({ code: "upstream.malformed", mayRetry: false });
      expect(fault.message).toContain("nobody asked");
    },
  );

  it("is malformed when it speaks no HTTP", async () => {
    const server = createServer((socket) => void socket.end("SSH-2.0-OpenSSH_9.6\r\n"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    open.push({ [Symbol.asyncDispose]: async () => void server.close() });
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
    const { upstream } = await house((_, response) => json(response, status, body), {
      apiKey: "sk-secret",
    });
    const fault = await faultOf(upstream);
    expect(fault).toMatchObject({ code, status: shown });
    expect(fault.message).toContain("`box`");
    expect(fault.message).not.toContain("sk-secret");
  });

  it("names the remedy for a rejected key", async () => {
    const { upstream } = await house((_, response) =>
      json(response, 401, { error: { message: "Invalid key." } }),
    );
    expect((await faultOf(upstream)).message).toBe(
      "Upstream `box` rejected its key (401): Invalid key. Check its `api_key`.",
    );
  });

  it("reads no more of an error page than it needs", async () => {
    const { upstream, server } = await house((_, response) => {
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
    const { upstream } = await house((_, response) =>
      response.end("<!doctype html><title>Hi</title>"),
    );
    const fault = await faultOf(upstream);
    expect(fault).toMatchObject({ code: "upstream.malformed" });
    expect(fault.message).toContain("base_url");
  });

  it("is not followed elsewhere", async () => {
    const { upstream } = await house((_, response) =>
      response.writeHead(308, { location: "https://a.example/v1" }).end(),
    );
    const fault = await faultOf(upstream);
    expect(fault).toMatchObject({ code: "upstream.failed", status: 502 });
    expect(fault.message).toContain("https://a.example/v1");
  });

  it("times out before its headers", async () => {
    const { upstream } = await house(() => {}, { timeouts: { headers: 30 } });
    expect((await faultOf(upstream)).code).toBe("upstream.headers_timeout");
  });

  it("times out when it falls silent, after what it had said", async () => {
    const { upstream } = await house((_, response) => sse(response, word("Hel")), {
      timeouts: { idle: 30 },
    });
    const answer = await answerOf(upstream);
    expect(answer.fault?.code).toBe("upstream.idle_timeout");
    expect(textOf(answer)).toBe("Hel");
  });

  it("is cut when it closes in the middle of a call, which stays incomplete", async () => {
    const { upstream } = await house((_, response) => {
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
    const { upstream } = await house((_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
      response.write('{"events":[');
      setImmediate(() => response.destroy());
    });
    expect((await faultOf(upstream)).code).toBe("upstream.cut");
  });

  it("reports its own error from inside a stream, without its key", async () => {
    const { upstream } = await house(
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
    const { upstream } = await house((_, response) => {
      sse(response);
      response.end();
    });
    expect((await faultOf(upstream)).code).toBe("upstream.empty");
  });

  it("says what a text says that stands in its place, without its key", async () => {
    const { upstream } = await house(
      (_, response) => {
        response.writeHead(200, { "content-type": "text/plain" });
        response.end("No capacity left for sk-secret");
      },
      { apiKey: "sk-secret" },
    );
    const fault = await faultOf(upstream);
    expect(fault.code).toBe("upstream.malformed");
    expect(fault.message).toContain("no answer: No capacity left for [redacted].");
  });

  it("is malformed when it packs its answer unasked", async () => {
    const { upstream } = await house((_, response) => {
      response.writeHead(200, { "content-encoding": "gzip" });
      response.end("....");
    });
    expect((await faultOf(upstream)).code).toBe("upstream.malformed");
  });

  it("does not take the process along when whoever listens is broken", async () => {
    const { upstream } = await house((_, response) => {
      sse(response, word("a"));
    });
    const heard: string[] = [];
    const ended = Promise.withResolvers<void>();
    const source = upstream.prepare(turn, { model: "m", straight: false });
    source.open({ retry: true, requestId: "r" })({
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
    const { upstream, clock } = await house((_, response) => {
      if (asked++ === 0) return json(response, 429, {}, { "retry-after": "3" });
      sse(response, hello);
      response.end();
    });
    const heard = hear(upstream, { retry: true });
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
    const { upstream, clock } = await house((_, response) => {
      if (asked++ < 2) return json(response, 500, { error: "flaky" });
      sse(response, hello);
      response.end();
    });
    const heard = hear(upstream, { retry: true });
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
    const { upstream, clock } = await house((request, response) => {
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
    const heard = hear(upstream, { retry: true });
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
    const cut = await house((_, response) => {
      asked++;
      sse(response, word("a"));
      setImmediate(() => response.destroy());
    });
    expect((await faultOf(cut.upstream, { retry: true })).code).toBe("upstream.cut");
    const wrong = await house((_, response) => (asked++, json(response, 400, {})));
    expect((await faultOf(wrong.upstream, { retry: true })).code).toBe("upstream.refused");
    const once = await house((_, response) => (asked++, json(response, 500, {})));
    expect((await faultOf(once.upstream, { retry: false })).code).toBe("upstream.failed");
    expect(asked).toBe(3);
  });

  it("is not waited for longer than twenty seconds: the client is told instead", async () => {
    const { upstream } = await house((_, response) =>
      json(response, 429, {}, { "retry-after": "21" }),
    );
    const fault = await faultOf(upstream, { retry: true });
    expect(fault).toMatchObject({ code: "upstream.rate_limited", status: 429 });
    expect(fault.detail.retryAfter).toBe("21");
  });

  it("is called off by a stop", async () => {
    let asked = 0;
    const { upstream, clock } = await house((_, response) => (asked++, json(response, 503, {})));
    const heard = hear(upstream, { retry: true });
    await until(() => clock.waiting() === 1);
    heard.flow.stop();
    expect(clock.waiting()).toBe(0);
    clock.move(60_000);
    expect(asked).toBe(1);
    expect(heard).toMatchObject({ events: [], ends: 0 });
  });
});

describe("the hand on a turn", () => {
  it("closes the upstream's socket when it stops, at whatever moment", async () => {
    let reply: (response: ServerResponse) => void = () => {};
    let closed = 0;
    const { upstream, server } = await house((_, response) => {
      response.on("close", () => void closed++);
      reply(response);
    });
    const waiting = hear(upstream);
    await until(() => server.sockets.length === 1);
    waiting.flow.stop();
    await until(() => closed === 1);

    reply = (response) => sse(response, word("a"));
    const speaking = hear(upstream);
    await until(() => words(speaking).length === 1);
    speaking.flow.stop();
    await until(() => closed === 2);

    const unsent = hear(upstream);
    unsent.flow.stop();
    await until(() => server.sockets.every((socket) => socket.destroyed));
    expect([waiting, speaking, unsent].map((heard) => heard.ends)).toEqual([0, 0, 0]);
    expect(unsent.events).toEqual([]);
  });

  it("slows a fast upstream down: what is not read stays there", async () => {
    let written = 0;
    let full = 0;
    const piece = word("x".repeat(16_000));
    const { upstream } = await house((_, response) => {
      sse(response);
      const more = (): void => {
        while (!response.destroyed && written < 400_000_000) {
          written += piece.length;
          if (response.write(piece)) continue;
          full++;
          response.once("drain", more);
          return;
        }
      };
      more();
    });
    const heard = hear(upstream);
    await until(() => heard.events.length > 0);
    heard.flow.pause();
    // Whatever the kernel's buffers hold, the writer must come to rest.
    for (let before = -1, rest = 0; rest < 20; before = full) {
      rest = full === before ? rest + 1 : 0;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const resting = heard.events.length;
    expect(written).toBeLessThan(30_000_000);
    heard.flow.resume();
    await until(() => heard.events.length > resting + 100);
    heard.flow.stop();
  });

  it("can pause before there is anything to pause", async () => {
    let answer = (): void => {};
    const { upstream, server } = await house((_, response) => {
      answer = () => {
        sse(response, hello);
        response.end();
      };
    });
    const heard = hear(upstream);
    heard.flow.pause();
    await until(() => server.sockets.length === 1);
    await breath();
    answer();
    await breath();
    expect(heard.events).toEqual([]);
    heard.flow.resume();
    await heard.ended;
    expect(words(heard)).toEqual(["Hello", ", world"]);
  });

  it("waits for running turns when the upstream is closed, up to a bound", async () => {
    let finish = (): void => {};
    const { upstream } = await house((_, response) => {
      sse(response, word("a"));
      finish = () => response.end(stop + sseDone);
    });
    const heard = hear(upstream);
    await until(() => words(heard).length === 1);
    const closing = upstream.close();
    finish();
    await closing;
    expect(heard.events).toContainEqual({ type: "turn-end", choice: 0, stop: "end" });
    expect((await faultOf(upstream)).code).toBe("gateway.stopping");

    const stuck = await house((_, response) => sse(response, word("a")));
    const last = hear(stuck.upstream);
    await until(() => words(last).length === 1);
    const closed = stuck.upstream.close();
    stuck.clock.move(60_000);
    await closed;
    expect(last.events.at(-1)).toMatchObject({
      type: "turn-fail",
      fault: { code: "gateway.stopping" },
    });
  });
});

describe("the list of models", () => {
  it("is read from /models", async () => {
    const { upstream } = await house((request, response) =>
      json(response, request.url === "/v1/models" ? 200 : 404, {
        data: [{ id: "a" }, { id: "b" }],
      }),
    );
    expect(await upstream.models?.()).toEqual(["a", "b"]);
  });

  it("fails as a turn would", async () => {
    const { upstream } = await house((_, response) => json(response, 401, {}));
    await expect(upstream.models?.()).rejects.toMatchObject({ code: "upstream.auth" });
  });
});
