import Fastify from "fastify";
import { describe, expect, it } from "vitest";
import { createGateway } from "../../src/index.ts";
import { patchbay } from "../../src/host/server/fastify.ts";
import { bodyFor, doors, readAnswer, type DoorName } from "../support/client.ts";
import { chunk, answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, hang, json, sse, type Body } from "../support/fake-upstream.ts";
import { untilUnchanged, until } from "../support/loopback.ts";
import { onto } from "../support/serve.ts";
import { stillClock } from "../support/still-clock.ts";

const PATHS = { chat: "/v1/chat/completions", responses: "/v1/responses" } as const;

const post = (door: DoorName, more: object = {}, signal?: AbortSignal): Request =>
  new Request(`http://anywhere${PATHS[door]}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(bodyFor(door, { ...more })),
    ...(signal && { signal }),
  });

describe.each(doors)("gateway.fetch at the %s door", (door) => {
  it("answers, streamed and whole", async () => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Hello." }));
    const gateway = createGateway(onto("chat", upstream.url));
    for (const stream of [true, false]) {
      const response = await gateway.fetch(post(door, { stream }));
      expect(response.headers.get("x-request-id")).toMatch(/^req_/);
      expect(response.headers.get("x-patchbay-upstream")).toBe("fake/m");
      expect(await readAnswer(door, response)).toMatchObject({ status: 200, text: "Hello." });
    }
    await gateway.close(0);
  });

  it("answers before the upstream is through", async () => {
    const more = Promise.withResolvers<void>();
    const steps = [
      chunk(0, { role: "assistant", content: "Hel" }),
      more.promise,
      chunk(0, {}, "stop"),
    ];
    await using upstream = await fakeUpstream(() => sse(...steps));
    const gateway = createGateway(onto("chat", upstream.url));
    const response = await gateway.fetch(post(door, { stream: true }));
    const reader = response.body?.getReader();
    expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
    more.resolve();
    await reader?.cancel();
    await gateway.close(0);
  });

  it("says errors in the client's dialect", async () => {
    await using upstream = await fakeUpstream(() => json({ error: { message: "No." } }, 429));
    const gateway = createGateway(onto("chat", upstream.url));
    expect(await readAnswer(door, await gateway.fetch(post(door, { stream: true })))).toMatchObject(
      {
        status: 429,
        error: { code: "upstream.rate_limited" },
      },
    );
    const requests: [Request, number][] = [
      [new Request(`http://x${PATHS[door]}`, { method: "PUT" }), 405],
      [new Request("http://x/nowhere"), 404],
      [new Request(`http://x${PATHS[door]}`, { method: "POST", body: "{" }), 415],
      [post(door, { model: undefined }), 400],
    ];
    for (const [request, status] of requests)
      expect((await gateway.fetch(request)).status).toBe(status);
    await gateway.close(0);
  });

  it("refuses a body that is too large", async () => {
    const gateway = createGateway({ server: { body_limit: 1_000 } });
    const response = await gateway.fetch(post(door, { user: "x".repeat(2_000) }));
    expect(response.status).toBe(413);
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    await gateway.close(0);
  });

  it("stops the upstream when the answer is cancelled, or the request aborted", async () => {
    await using upstream = await fakeUpstream(() =>
      sse(chunk(0, { role: "assistant", content: "Hel" }), hang),
    );
    const gateway = createGateway(onto("chat", upstream.url));
    const cancelled = await gateway.fetch(post(door, { stream: true }));
    await cancelled.body?.cancel();
    await upstream.requests[0]?.closed;

    const abort = new AbortController();
    await gateway.fetch(post(door, { stream: true }, abort.signal));
    abort.abort();
    await upstream.requests[1]?.closed;

    const early = new AbortController();
    const asked = gateway.fetch(post(door, {}, early.signal));
    await until(() => upstream.requests.length === 3);
    early.abort();
    await expect(asked).rejects.toThrow("abort");
    await upstream.requests[2]?.closed;
    expect(upstream.requests.map((request) => request.abandoned())).toEqual([true, true, true]);
    await gateway.close(0);
  });

  it("slows the upstream down when nobody reads", async () => {
    let sent = 0;
    function* endless(): Generator<string> {
      yield chunk(0, { role: "assistant", content: "" });
      for (; sent < 5_000; sent++) yield chunk(0, { content: "x".repeat(10_000) });
      yield chunk(0, {}, "stop");
    }
    await using upstream = await fakeUpstream(() => ({ ...sse(), steps: endless() }));
    const gateway = createGateway(onto("chat", upstream.url));
    const response = await gateway.fetch(post(door, { stream: true }));
    await untilUnchanged(() => sent);
    const held = sent;
    expect(held).toBeLessThan(2_000);
    for await (const _ of response.body ?? []) if (sent > held) break;
    await upstream.requests[0]?.closed;
    expect(sent).toBeLessThan(2_500);
    await gateway.close(0);
  });
});

describe("the Fastify plugin", () => {
  it("lives in an app of the user's own and leaves the rest of it alone", async () => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Hello." }));
    const gateway = createGateway(onto("chat", upstream.url));
    const app = Fastify();
    app.post("/own", (request) => ({ got: request.body }));
    await app.register(patchbay, { gateway, prefix: "/llm" });
    const url = await app.listen({ host: "127.0.0.1", port: 0 });

    for (const door of doors)
      for (const stream of [true, false]) {
        const response = await fetch(`${url}/llm${PATHS[door]}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(bodyFor(door, { stream })),
        });
        expect(await readAnswer(door, response)).toMatchObject({ status: 200, text: "Hello." });
      }
    expect((await fetch(`${url}/llm/healthz`)).status).toBe(200);
    const unknown = await fetch(`${url}/llm/v1/nothing`);
    expect(unknown.status).toBe(404);
    expect(((await unknown.json()) as Body)["error"]).toMatchObject({ code: "request.route" });

    const own = await fetch(`${url}/own`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"a":1}',
    });
    expect(await own.json()).toEqual({ got: { a: 1 } });
    expect((await fetch(`${url}/nowhere`)).status).toBe(404);

    await app.close();
    await gateway.close(0);
  });
});

it("waits for turns under way when it is let go of, for as long as the configuration says", async () => {
  await using upstream = await fakeUpstream(() => sse(chunk(0, { content: "Hel" }), hang));
  const clock = stillClock();
  const config = { ...onto("chat", upstream.url), server: { shutdown_grace_ms: 300 } };
  const gateway = createGateway(config, { clock });
  const answer = await gateway.fetch(post("chat", { stream: true }));
  let isClosed = false;
  const closed = gateway[Symbol.asyncDispose]().then(() => (isClosed = true));
  clock.move(299);
  await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  clock.move(1);
  await closed;
  expect(await answer.text()).toContain("gateway.stopping");
});
