import { describe, expect, it } from "vitest";
import { answerInChat, answerInResponses, chunk } from "../support/fake-model.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { cut, done, fakeUpstream, hang, json, sse, type Body } from "../support/fake-upstream.ts";
import { until, untilUnchanged } from "../support/loopback.ts";
import { eventFaults, responseFaults } from "../support/open-responses.ts";
import { onto, serve } from "../support/serve.ts";
import { refusedSocket, socketClient } from "../support/socket-client.ts";

const hello = chunk(0, { role: "assistant", content: "Hello." });
const typesOf = (events: readonly Body[]): string[] => events.map(({ type }) => String(type));
const textOf = (events: readonly Body[]): string =>
  events
    .filter(({ type }) => type === "response.output_text.delta")
    .map(({ delta }) => String(delta))
    .join("");

describe.each([
  ["chat", answerInChat],
  ["responses", answerInResponses],
  ["messages", answerInMessages],
] as const)("Responses over a WebSocket, from a %s upstream", (dialect, answer) => {
  it("has the events of a stream, one in a message, and nothing behind the last", async () => {
    await using upstream = await fakeUpstream(({ body }) => answer(body, { text: "Hello there." }));
    await using served = await serve(onto(dialect, upstream.url));
    await using client = await socketClient(served.url);
    const events = await client.create({ input: "Hi" });
    expect(typesOf(events)[0]).toBe("response.created");
    expect(typesOf(events).at(-1)).toBe("response.completed");
    expect(textOf(events)).toBe("Hello there.");
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    expect(events.flatMap((event) => eventFaults(event as { type: string }))).toEqual([]);
    expect(responseFaults(events.at(-1)?.["response"])).toEqual([]);
    const again = await client.create({ input: "Hi again", stream: true });
    expect(textOf(again)).toBe("Hello there.");
    expect(served.turns()).toHaveLength(2);
    expect(new Set(served.turns().map(({ requestId }) => requestId)).size).toBe(2);
  });
});

describe("a WebSocket", () => {
  it("runs one turn at a time, in the order in which they were asked for", async () => {
    const { promise: go, resolve } = Promise.withResolvers<void>();
    await using upstream = await fakeUpstream(({ body }, index) =>
      index === 0
        ? sse(hello, go, chunk(0, {}, "stop"), done)
        : answerInChat(body, { text: "Second." }),
    );
    await using served = await serve(onto("chat", upstream.url));
    await using client = await socketClient(served.url);
    client.send({ type: "response.create", model: "m", input: "one" });
    client.send({ type: "response.create", model: "m", input: "two" });
    await until(() => upstream.requests.length === 1);
    resolve();
    expect(textOf(await client.turn())).toBe("Hello.");
    expect(textOf(await client.turn())).toBe("Second.");
    expect(upstream.requests).toHaveLength(2);
  });

  it("says what is wrong with a message in an event, and stays open", async () => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Fine." }));
    await using served = await serve(onto("chat", upstream.url));
    await using client = await socketClient(served.url, { "x-request-id": "one-for-all" });
    const wrong: readonly (readonly [unknown, number, string | null])[] = [
      ["no JSON", 400, null],
      ["[1]", 400, null],
      [{ type: "response.steer" }, 400, "type"],
      [{ type: "response.create", model: "m", input: 7 }, 400, "input"],
      [{ type: "response.create", model: "m", input: "x", background: true }, 400, "background"],
      [{ type: "response.create", model: "m", input: "x", stream_id: "a" }, 400, "stream_id"],
      [{ type: "response.create", model: "m", input: "x", generate: 1 }, 400, "generate"],
      [{ type: "response.create", input: "x" }, 400, "model"],
    ];
    const ids = new Set();
    for (const [message, status, param] of wrong) {
      client.send(message);
      const [event] = await client.turn();
      expect(event).toMatchObject({ type: "error", status, error: { param } });
      ids.add(event?.["headers"]["x-request-id"]);
    }
    expect(ids.size).toBe(wrong.length);
    client.socket.send(Buffer.from([0xff]), { binary: true });
    expect((await client.turn())[0]).toMatchObject({ type: "error", status: 400 });
    expect(textOf(await client.create({ input: "Hi" }))).toBe("Fine.");
  });

  it("tells an upstream's refusal with its status and when to ask again", async () => {
    const refusal = json({ error: { message: "Slow down." } }, 429, { "retry-after": "7" });
    await using upstream = await fakeUpstream(() => refusal);
    await using served = await serve(onto("chat", upstream.url));
    await using client = await socketClient(served.url);
    const events = await client.create({ input: "Hi" });
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      type: "error",
      status: 429,
      headers: { "retry-after": "7" },
      error: { type: "rate_limit_error", headers: { "retry-after": "7" } },
    });
  });

  it("ends a turn that fails in mid-answer with one event", async () => {
    await using upstream = await fakeUpstream(({ body }, index) =>
      index === 0 ? sse(hello, cut) : answerInChat(body, { text: "Fine." }),
    );
    await using served = await serve(onto("chat", upstream.url));
    await using client = await socketClient(served.url);
    const types = typesOf(await client.create({ input: "Hi" }));
    expect(types.at(-1)).toBe("response.failed");
    expect(types).not.toContain("error");
    expect(textOf(await client.create({ input: "Hi" }))).toBe("Fine.");
  });

  it("makes a request ready without asking the model", async () => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Fine." }));
    await using served = await serve(onto("chat", upstream.url));
    await using client = await socketClient(served.url);
    const events = await client.create({ input: "Hi", generate: false });
    expect(typesOf(events)).toEqual([
      "response.created",
      "response.in_progress",
      "response.completed",
    ]);
    expect(events.at(-1)?.["response"]).toMatchObject({ output: [], status: "completed" });
    expect(upstream.requests).toHaveLength(0);
  });

  it("that closes stops its turn, and forgets those that wait", async () => {
    await using upstream = await fakeUpstream(() => sse(hello, hang));
    await using served = await serve(onto("chat", upstream.url));
    await using client = await socketClient(served.url);
    client.send({ type: "response.create", model: "m", input: "one" });
    client.send({ type: "response.create", model: "m", input: "two" });
    await client.next();
    client.socket.close();
    await upstream.requests[0]?.closed;
    await until(() => served.turns().length === 1);
    expect(served.turns()[0]).toMatchObject({ outcome: "left" });
    expect(upstream.requests).toHaveLength(1);
    expect(served.gateway.running()).toEqual([]);
  });

  it("that is read slowly slows the upstream down", async () => {
    const piece = chunk(0, { content: "x".repeat(64_000) });
    let sent = 0;
    const endless = (function* () {
      for (; sent < 4000; sent++) yield piece;
    })();
    await using upstream = await fakeUpstream(() => ({
      headers: { "content-type": "text/event-stream" },
      steps: endless,
    }));
    await using served = await serve(onto("chat", upstream.url));
    await using client = await socketClient(served.url);
    client.socket.pause();
    client.send({ type: "response.create", model: "m", input: "one" });
    await until(() => sent > 0);
    await untilUnchanged(() => sent);
    expect(sent).toBeGreaterThan(0);
    expect(sent).toBeLessThan(1000);
  });

  it("closes on a message beyond the limit for bodies, and on too many that wait", async () => {
    await using upstream = await fakeUpstream(() => sse(hello, hang));
    await using served = await serve({
      ...onto("chat", upstream.url),
      server: { body_limit: 1000 },
    });
    await using long = await socketClient(served.url);
    long.send({ type: "response.create", model: "m", input: "x".repeat(1000) });
    expect(await long.closed).toBe(1009);
    await using many = await socketClient(served.url);
    for (let at = 0; at < 40; at++) many.send({ type: "response.create", model: "m", input: "x" });
    expect(await many.closed).toBe(1008);
  });

  it("is closed by a gateway that stops, after its turn", async () => {
    const { promise: go, resolve } = Promise.withResolvers<void>();
    await using upstream = await fakeUpstream(() => sse(hello, go, chunk(0, {}, "stop"), done));
    await using served = await serve(onto("chat", upstream.url));
    await using idle = await socketClient(served.url);
    await using busy = await socketClient(served.url);
    busy.send({ type: "response.create", model: "m", input: "one" });
    await until(() => upstream.requests.length === 1);
    const stopped = served.close(10_000);
    expect(await idle.closed).toBe(1001);
    resolve();
    expect(typesOf(await busy.turn()).at(-1)).toBe("response.completed");
    expect(await busy.closed).toBe(1001);
    await stopped;
  });
});

describe("a request to open a WebSocket", () => {
  it("needs a key where requests do, and so does each message", async () => {
    const config = onto("chat", "http://127.0.0.1:9/v1");
    await using served = await serve({ ...config, server: { keys: ["k"] } });
    expect(await refusedSocket(served.url)).toMatchObject({
      status: 401,
      body: { error: { code: "auth.missing" } },
    });
    const headers = { authorization: "Bearer wrong" };
    expect(await refusedSocket(served.url, undefined, headers)).toMatchObject({ status: 401 });
    await using client = await socketClient(served.url, { authorization: "Bearer k" });
    expect((await client.create({ input: "Hi" }))[0]).toMatchObject({ type: "error", status: 502 });
    served.reconfigure({ ...config, server: { keys: ["other"] } });
    expect((await client.create({ input: "Hi" }))[0]).toMatchObject({ type: "error", status: 401 });
  });

  it("is refused to a page from elsewhere where there are no keys", async () => {
    await using served = await serve({});
    const headers = { origin: "https://evil.example" };
    expect(await refusedSocket(served.url, undefined, headers)).toMatchObject({ status: 403 });
    expect(await refusedSocket(served.url, undefined, { host: "evil.example" })).toMatchObject({
      status: 403,
    });
  });

  it("is answered with 426 where they are off or a path has none", async () => {
    await using off = await serve({ server: { websocket: false } });
    expect(await refusedSocket(off.url)).toMatchObject({
      status: 426,
      body: { error: { code: "request.websocket" } },
    });
    await using served = await serve({});
    expect(await refusedSocket(served.url, "/v1/chat/completions")).toMatchObject({ status: 426 });
    expect(await refusedSocket(served.url, "/v1/nothing")).toMatchObject({ status: 404 });
  });
});
