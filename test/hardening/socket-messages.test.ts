import { describe, expect, it } from "vitest";
import { chunk, answerInChat } from "../support/fake-model.ts";
import { done, fakeUpstream, sse } from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { socketClient, type SocketClient } from "../support/socket-client.ts";

const MB = 1024 * 1024;

const opened = (served: Served, tenant: string): Promise<SocketClient> =>
  socketClient(served.url, { authorization: `Bearer key-of-${tenant}` });

const server = {
  keys: ["ann", "bob"].map((name) => ({ name, key: `key-of-${name}` })),
  body_limit: 2 * MB,
  bodies_limit: 3 * MB,
};

describe("a message that arrives over a WebSocket", () => {
  it("is counted among the bodies that arrive until it is whole", async () => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Fine." }));
    await using served = await serve({ ...onto("chat", upstream.url), server });
    await using client = await opened(served, "ann");
    const message = JSON.stringify({
      type: "response.create",
      model: "m",
      input: "x".repeat(MB),
    });
    client.socket.send(message.slice(0, MB), { fin: false });
    const { bodyBudget } = served.gateway;
    await until(() => bodyBudget.held >= MB);
    client.socket.send(message.slice(MB), { fin: true });
    expect((await client.turn()).at(-1)).toMatchObject({ type: "response.completed" });
    expect(bodyBudget.held).toBe(0);
  });

  it("gives back what it held when its connection closes", async () => {
    await using served = await serve({ server });
    await using client = await opened(served, "ann");
    client.socket.send("x".repeat(MB), { fin: false });
    const { bodyBudget } = served.gateway;
    await until(() => bodyBudget.held >= MB);
    client.socket.terminate();
    await until(() => bodyBudget.held < MB);
    expect(bodyBudget.held).toBe(0);
  });

  it("is refused where its tenant holds too much, and another tenant goes on", async () => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Fine." }));
    await using served = await serve({ ...onto("chat", upstream.url), server });
    const all = await Promise.all(Array.from({ length: 4 }, () => opened(served, "ann")));
    for (const { socket } of all) socket.send("x".repeat(MB), { fin: false });
    const refused = await Promise.race(
      all.map(async (client) => ({ client, event: await client.next() })),
    );
    expect(refused.event).toMatchObject({
      type: "error",
      status: 503,
      error: { code: "gateway.busy" },
      headers: { "retry-after": "1" },
    });
    expect(await refused.client.closed).toBe(1013);
    expect(served.gateway.bodyBudget.held).toBeLessThanOrEqual(2 * MB);
    expect(served.happenings).toContainEqual(
      expect.objectContaining({ type: "refusal", fault: "gateway.busy", status: 503 }),
    );
    await using other = await opened(served, "bob");
    const answered = await other.create({ input: "x".repeat(MB / 4) });
    expect(answered.at(-1)).toMatchObject({ type: "response.completed" });
    for (const client of all) await client[Symbol.asyncDispose]();
    await until(() => served.gateway.bodyBudget.held === 0);
  });

  it("is refused after the answer that is under way, which ends as it would", async () => {
    const { promise: go, resolve } = Promise.withResolvers<void>();
    const hello = chunk(0, { role: "assistant", content: "Hello." });
    await using upstream = await fakeUpstream(() => sse(hello, go, chunk(0, {}, "stop"), done));
    await using served = await serve({
      ...onto("chat", upstream.url),
      server: { ...server, bodies_limit: MB },
    });
    await using client = await opened(served, "ann");
    client.send({ type: "response.create", model: "m", input: "one" });
    await until(() => upstream.requests.length === 1);
    client.socket.send("x".repeat(MB), { fin: false });
    await until(() => served.gateway.bodyBudget.held > 0.5 * MB);
    resolve();
    expect((await client.turn()).at(-1)).toMatchObject({ type: "response.completed" });
    expect((await client.turn())[0]).toMatchObject({ error: { code: "gateway.busy" } });
    expect(await client.closed).toBe(1013);
  });

  it("is counted as long as it waits for the turn before it", async () => {
    const { promise: go, resolve } = Promise.withResolvers<void>();
    const hello = chunk(0, { role: "assistant", content: "Hello." });
    await using upstream = await fakeUpstream(() => sse(hello, go, chunk(0, {}, "stop"), done));
    await using served = await serve({ ...onto("chat", upstream.url), server });
    await using client = await opened(served, "ann");
    client.send({ type: "response.create", model: "m", input: "one" });
    await until(() => upstream.requests.length === 1);
    client.send({ type: "response.create", model: "m", input: "x".repeat(MB) });
    client.socket.ping();
    await new Promise((heard) => client.socket.once("pong", heard));
    expect(served.gateway.bodyBudget.held).toBeGreaterThan(MB);
    expect(served.gateway.bodyBudget.held).toBeLessThan(1.1 * MB);
    resolve();
    await client.turn();
    await client.turn();
    expect(served.gateway.bodyBudget.held).toBe(0);
  });

  it("leaves nothing counted once it is whole, however it was split", async () => {
    await using served = await serve({ server });
    await using client = await opened(served, "ann");
    const lengths = [1, 125, 126, 4000, 65_535, 65_536, 300_000];
    for (const [at, length] of lengths.entries()) {
      const message = JSON.stringify({
        type: "response.create",
        model: "demo",
        input: "x".repeat(length),
      });
      const size = Math.ceil(message.length / (1 + 3 * at));
      for (let from = 0; from < message.length; from += size) {
        client.socket.send(message.slice(from, from + size), {
          fin: from + size >= message.length,
        });
        client.socket.ping("between");
      }
      expect((await client.turn()).at(-1)).toMatchObject({ type: "response.completed" });
      client.socket.ping();
      await new Promise((heard) => client.socket.once("pong", heard));
      expect(served.gateway.bodyBudget.held).toBe(0);
    }
  });
});

describe("what WebSockets remember of answers that are not stored", () => {
  const input = "x".repeat(600_000);
  const asked = { model: "m", store: false, input };
  const idOf = (events: Awaited<ReturnType<SocketClient["create"]>>): string =>
    String(events.at(-1)?.["response"]?.id);

  it("is bounded for a tenant's connections together, and another tenant's are remembered", async () => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Fine." }));
    await using served = await serve({ ...onto("chat", upstream.url), server });
    const goesOn = async (client: SocketClient): Promise<unknown> => {
      const previous_response_id = idOf(await client.create(asked));
      return (await client.create({ ...asked, input: "And?", previous_response_id })).at(-1)?.type;
    };
    const clients: SocketClient[] = [];
    for (let at = 0; at < 8; at++) {
      const client = await opened(served, "ann");
      clients.push(client);
      await client.create(asked);
      expect(served.gateway.sessionBudget.held).toBeLessThan(3 * MB);
    }
    expect(served.gateway.sessionBudget.held).toBeGreaterThan(MB);
    await using last = await opened(served, "ann");
    expect(await goesOn(last)).toBe("error");
    await using other = await opened(served, "bob");
    expect(await goesOn(other)).toBe("response.completed");
    for (const { socket } of [...clients, last, other]) socket.terminate();
    await until(() => served.gateway.sessionBudget.held === 0);
  });
});
