import { describe, expect, it } from "vitest";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, sse } from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { onto, serve, type Served } from "../support/serve.ts";

const MB = 1_000_000;
const server = {
  keys: ["ann", "bob"].map((name) => ({ name, key: name })),
  turns_limit: 3 * MB,
};

const ask = (served: Served, key: string, path: string, body: object, signal?: AbortSignal) =>
  fetch(`${served.url}/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "m", ...body }),
    ...(signal !== undefined && { signal }),
  });

const chat = (length: number) => ({ messages: [{ role: "user", content: "x".repeat(length) }] });
const busy = { error: { code: "gateway.busy", message: expect.stringContaining("turns_limit") } };

describe("turns under way", () => {
  it("hold no more memory than they may, and leave some to other tenants", async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    await using upstream = await fakeUpstream(({ body }, index) =>
      index === 0 ? sse(answered) : answerInChat(body, { text: "Fine." }),
    );
    await using served = await serve({ ...onto("chat", upstream.url), server });
    const leaving = new AbortController();
    const first = ask(served, "ann", "/chat/completions", chat(1.5 * MB), leaving.signal);
    first.catch(() => {});
    await until(() => upstream.requests.length === 1);
    const second = await ask(served, "ann", "/chat/completions", chat(MB));
    expect(second.status).toBe(503);
    expect(second.headers.get("retry-after")).toBe("1");
    expect(await second.json()).toMatchObject(busy);
    expect((await ask(served, "bob", "/chat/completions", chat(MB / 2))).status).toBe(200);
    leaving.abort();
    await until(() => served.gateway.examined().memory.held === 0);
    expect((await ask(served, "ann", "/chat/completions", chat(MB))).status).toBe(200);
    answer();
  });

  it("count what they refer to", async () => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Fine." }));
    await using served = await serve({ ...onto("chat", upstream.url), server });
    const long = await ask(served, "ann", "/responses", { input: "x".repeat(MB / 4) });
    const { id } = (await long.json()) as { id: string };
    const next = (input: string) =>
      ask(served, "ann", "/responses", { input, previous_response_id: id });
    expect((await next("And?")).status).toBe(200);
    expect((await next("x".repeat(1.5 * MB))).status).toBe(413);
    expect(served.gateway.examined().memory.held).toBe(0);
  });
});
