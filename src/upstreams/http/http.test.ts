import type { IncomingMessage, ServerResponse } from "node:http";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  answerOf,
  bodyOf,
  untilIdle,
  chunk,
  closeAfterTest,
  completion,
  faultOf,
  openTurn,
  hello,
  startUpstream,
  json,
  makeUpstream,
  sse,
  stop,
  textOf,
  turn,
  word,
  words,
} from "../../../test/support/http-upstream.ts";
import { until, loopback } from "../../../test/support/loopback.ts";
import { sseDone } from "../../stream/sse.ts";

describe("what is sent", () => {
  it("is a POST to the dialect's route with the key, the request id and our name", async () => {
    let seen: { url?: string | undefined; headers?: object; body?: string } = {};
    const { upstream } = await startUpstream(
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
    closeAfterTest(server);
    const upstream = makeUpstream(`${server.url}/deployments/a/?api-version=2`, {
      apiKey: "unused",
      headers: { Authorization: "Basic abc" },
    });
    await answerOf(upstream, { asked: { ...turn, stream: false } });
    expect(seen?.url).toBe("/deployments/a/chat/completions?api-version=2");
    expect(seen?.headers).toMatchObject({ authorization: "Basic abc", accept: "application/json" });
  });

  it("uses a connection again once its answer is over", async () => {
    const { upstream, server } = await startUpstream((_, response) => {
      sse(response, hello);
      response.end();
    });
    for (let turns = 0; turns < 3; turns++) {
      expect(textOf(await answerOf(upstream))).toBe("Hello, world");
      await untilIdle();
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
    const { upstream } = await startUpstream((_, response) => {
      const [type, body] = bodies[next++] ?? [undefined, ""];
      if (type !== undefined) response.setHeader("content-type", type);
      response.end(body);
    });
    for (const [type] of bodies)
      expect(`${type} ${textOf(await answerOf(upstream))}`).toBe(`${type} Hello, world`);
  });

  it("says frames too when asked to go straight", async () => {
    const { upstream } = await startUpstream((_, response) => {
      sse(response, `event: x\n${word("a")}`, stop, sseDone);
      response.end();
    });
    const heard = openTurn(upstream, { straight: true });
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
    const { upstream } = await startUpstream(async (_, response) => {
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
    const { upstream } = await startUpstream((_, response) => {
      response.socket?.cork();
      sse(response, ...Array.from({ length: 200 }, () => word("x")), stop, sseDone);
      response.end();
      response.socket?.uncork();
    });
    const heard = openTurn(upstream);
    await heard.ended;
    expect(words(heard).join("")).toHaveLength(200);
    expect(heard.flushes).toBeLessThan(10);
  });

  it("ends with the upstream's last word, before the connection does", async () => {
    let response: ServerResponse | undefined;
    const { upstream, server } = await startUpstream((_, reply) => {
      response = reply;
      sse(reply, hello);
    });
    const heard = openTurn(upstream);
    await heard.ended;
    expect(response?.writableEnded).toBe(false);
    response?.end("noise after the end");
    await untilIdle();
    await openTurn(upstream).ended;
    expect(server.sockets).toHaveLength(1);
  });

  it("gives up a connection that goes on after the last word", async () => {
    const { upstream, server, clock } = await startUpstream((_, response) => sse(response, hello));
    await openTurn(upstream).ended;
    await until(() => clock.waiting() === 1);
    clock.move(2_000);
    await until(() => server.sockets[0]?.destroyed === true);

    const endless = await startUpstream((_, response) => {
      sse(response, hello);
      const more = (): void =>
        void (response.destroyed || (response.write("x".repeat(65_536)), setImmediate(more)));
      more();
    });
    const heard = openTurn(endless.upstream);
    await heard.ended;
    await until(() => endless.server.sockets[0]?.destroyed === true);
    expect(heard.ends).toBe(1);
  });
});

describe("the hand on a turn", () => {
  it("closes the upstream's socket when it stops, at whatever moment", async () => {
    let reply: (response: ServerResponse) => void = () => {};
    let closed = 0;
    const { upstream, server } = await startUpstream((_, response) => {
      response.on("close", () => void closed++);
      reply(response);
    });
    const waiting = openTurn(upstream);
    await until(() => server.sockets.length === 1);
    waiting.flow.stop();
    await until(() => closed === 1);

    reply = (response) => sse(response, word("a"));
    const speaking = openTurn(upstream);
    await until(() => words(speaking).length === 1);
    speaking.flow.stop();
    await until(() => closed === 2);

    const unsent = openTurn(upstream);
    unsent.flow.stop();
    await until(() => server.sockets.every((socket) => socket.destroyed));
    expect([waiting, speaking, unsent].map((heard) => heard.ends)).toEqual([0, 0, 0]);
    expect(unsent.events).toEqual([]);
  });

  it("slows a fast upstream down: what is not read stays there", async () => {
    let written = 0;
    let full = 0;
    const piece = word("x".repeat(16_000));
    const { upstream } = await startUpstream((_, response) => {
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
    const heard = openTurn(upstream);
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
    const { upstream, server } = await startUpstream((_, response) => {
      answer = () => {
        sse(response, hello);
        response.end();
      };
    });
    const heard = openTurn(upstream);
    heard.flow.pause();
    await until(() => server.sockets.length === 1);
    await untilIdle();
    answer();
    await untilIdle();
    expect(heard.events).toEqual([]);
    heard.flow.resume();
    await heard.ended;
    expect(words(heard)).toEqual(["Hello", ", world"]);
  });

  it("waits for running turns when the upstream is closed, up to a bound", async () => {
    let finish = (): void => {};
    const { upstream } = await startUpstream((_, response) => {
      sse(response, word("a"));
      finish = () => response.end(stop + sseDone);
    });
    const heard = openTurn(upstream);
    await until(() => words(heard).length === 1);
    const closing = upstream.close();
    finish();
    await closing;
    expect(heard.events).toContainEqual({ type: "turn-end", choice: 0, stop: "end" });
    expect((await faultOf(upstream)).code).toBe("gateway.stopping");

    const stuck = await startUpstream((_, response) => sse(response, word("a")));
    const last = openTurn(stuck.upstream);
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
    const { upstream } = await startUpstream((request, response) =>
      json(response, request.url === "/v1/models" ? 200 : 404, {
        data: [{ id: "a" }, { id: "b" }],
      }),
    );
    expect(await upstream.models?.()).toEqual(["a", "b"]);
  });

  it("fails as a turn would", async () => {
    const { upstream } = await startUpstream((_, response) => json(response, 401, {}));
    await expect(upstream.models?.()).rejects.toMatchObject({ code: "upstream.auth" });
  });
});
