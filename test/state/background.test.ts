import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { APIError, type OpenAI } from "openai";
import { describe, expect, it } from "vitest";
import { clientOf } from "../sdk/gateway.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat, answerInResponses, chunk } from "../support/fake-model.ts";
import {
  done,
  fakeUpstream,
  hang,
  json,
  sse,
  type FakeUpstream,
  type Step,
} from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

const answers = { chat: answerInChat, responses: answerInResponses, messages: answerInMessages };
type Dialect = keyof typeof answers;
const dialects = Object.keys(answers) as Dialect[];
type Responses = OpenAI.Responses.Response;
type Event = OpenAI.Responses.ResponseStreamEvent;

/** Answers as far as its first words, and with the rest once `go` is called. */
async function halting(dialect: Dialect): Promise<FakeUpstream & { go(): void }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const upstream = await fakeUpstream(({ body }) => {
    const answer = answers[dialect](body, { text: "Hello there, and good day." });
    const steps = [...(answer.steps as Iterable<string>)];
    const middle = Math.floor(steps.length / 2);
    const held: Step[] = [...steps.slice(0, middle), promise, ...steps.slice(middle)];
    return { ...answer, steps: held };
  });
  return { ...upstream, go: resolve };
}

const asked = { model: "m", input: "Hi", background: true } as const;

const ended = async (client: OpenAI, id: string): Promise<Responses> => {
  await expect
    .poll(async () => (await client.responses.retrieve(id)).status, { timeout: 20_000 })
    .not.toMatch(/queued|in_progress/);
  return client.responses.retrieve(id);
};

const error = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    return await promise;
  } catch (thrown) {
    return thrown instanceof APIError
      ? { status: thrown.status, code: thrown.code, param: thrown.param }
      : thrown;
  }
};

const numbersOf = (events: readonly Event[]): number[] =>
  events.map(({ sequence_number }) => sequence_number);
const upTo = (count: number, from = 0): number[] =>
  Array.from({ length: count - from }, (_, at) => from + at);

describe.each(dialects)("a response in the background from a %s upstream", (dialect) => {
  it("is polled until it is over, and outlives its client", async () => {
    await using upstream = await halting(dialect);
    await using served = await serve(onto(dialect, upstream.url));
    const client = clientOf(served);
    const begun = await client.responses.create(asked);
    expect(begun).toMatchObject({ status: "queued", background: true, output: [] });
    expect(await client.responses.retrieve(begun.id)).toMatchObject({ status: "in_progress" });
    upstream.go();
    expect(await ended(client, begun.id)).toMatchObject({
      id: begun.id,
      status: "completed",
      background: true,
      output_text: "Hello there, and good day.",
    });
    expect(upstream.requests[0]?.body["background"]).toBeUndefined();
    const next = { model: "m", input: "And?", previous_response_id: begun.id };
    await client.responses.create(next);
    expect(JSON.stringify(upstream.requests[1]?.body)).toContain("Hello there, and good day.");
  });

  it("is taken up again behind any event, while it is made and when it is over", async () => {
    await using upstream = await halting(dialect);
    await using served = await serve(onto(dialect, upstream.url));
    const client = clientOf(served);
    const stream = await client.responses.create({ ...asked, stream: true });
    const first: Event[] = [];
    for await (const event of stream) {
      first.push(event);
      if (event.type === "response.output_text.delta") break;
    }
    const { id } = (first[0] as Extract<Event, { type: "response.created" }>).response;
    const later = client.responses.retrieve(id, { stream: true, starting_after: 1 });
    const second: Event[] = [];
    for await (const event of await later) {
      second.push(event);
      upstream.go();
    }
    expect(numbersOf(second)).toEqual(upTo(second.length + 2, 2));
    expect(second.at(-1)).toMatchObject({
      type: "response.completed",
      response: { id, status: "completed" },
    });
    await expect.poll(() => served.turns().length).toBe(1);
    const all: Event[] = [];
    for await (const event of await client.responses.retrieve(id, { stream: true }))
      all.push(event);
    expect(all.slice(2)).toEqual(second);
    expect(numbersOf(all)).toEqual(upTo(all.length));
    const none: Event[] = [];
    const end = { stream: true, starting_after: all.length - 1 } as const;
    for await (const event of await client.responses.retrieve(id, end)) none.push(event);
    expect(none).toEqual([]);
  });

  it("is cancelled, once and for all", async () => {
    await using upstream = await halting(dialect);
    await using served = await serve(onto(dialect, upstream.url));
    const client = clientOf(served);
    const { id } = await client.responses.create(asked);
    await expect.poll(() => upstream.requests.length).toBe(1);
    expect(await client.responses.cancel(id)).toMatchObject({ id, status: "cancelled" });
    expect(await client.responses.cancel(id)).toMatchObject({ id, status: "cancelled" });
    expect(await client.responses.retrieve(id)).toMatchObject({ id, status: "cancelled" });
    await upstream.requests[0]?.closed;
    expect(upstream.requests[0]?.abandoned()).toBe(true);
    upstream.go();
  });
});

describe("a response in the background", () => {
  it("is followed and cancelled through another gateway on the same store", async () => {
    const folder = mkdtempSync(join(tmpdir(), "patchbay-background-"));
    const store = { kind: "sqlite", path: join(folder, "store.db") } as const;
    await using upstream = await halting("chat");
    await using one = await serve({ store, ...onto("chat", upstream.url) });
    await using other = await serve({ store, ...onto("chat", upstream.url) });
    const { id } = await clientOf(one).responses.create(asked);
    const stream = fetch(`${other.url}/v1/responses/${id}?stream=true`);
    const text = stream.then((response) => response.text());
    await expect.poll(() => upstream.requests.length).toBe(1);
    const cancelled = await clientOf(other).responses.cancel(id);
    expect(cancelled).toMatchObject({ id, status: "cancelled" });
    const types = (await text).match(/(?<=^event: ).*/gm) ?? [];
    expect(types.slice(0, 2)).toEqual(["response.created", "response.in_progress"]);
    expect(types.at(-1)).toBe("response.failed");
    expect(await clientOf(one).responses.retrieve(id)).toMatchObject({ status: "cancelled" });
    upstream.go();
    rmSync(folder, { recursive: true });
  });

  it("is followed through another gateway without a gap, however many megabytes its events have", async () => {
    const folder = mkdtempSync(join(tmpdir(), "patchbay-background-"));
    const store = { kind: "sqlite", path: join(folder, "store.db") } as const;
    const text = "good day ".repeat(1_500_000);
    // Each line of it is a delta, and five events at its end have all of it.
    const step = 100_000;
    const deltas = Array.from({ length: Math.ceil(text.length / step) }, (_, at) =>
      chunk(0, { content: text.slice(at * step, (at + 1) * step) }),
    );
    await using upstream = await fakeUpstream(() =>
      sse(chunk(0, { role: "assistant" }), ...deltas, chunk(0, {}, "stop"), done),
    );
    await using one = await serve({ store, ...onto("chat", upstream.url) });
    await using other = await serve({ store, ...onto("chat", upstream.url) });
    const { id } = await clientOf(one).responses.create(asked);
    const response = await fetch(`${other.url}/v1/responses/${id}?stream=true`);
    const stream = await response.text();
    expect(stream.length).toBeGreaterThan(64 * 1024 * 1024);
    const numbers = [...stream.matchAll(/,"sequence_number":(\d+)\}\n/g)].map(([, at]) =>
      Number(at),
    );
    expect(numbers).toEqual(upTo(numbers.length));
    const types = [...stream.matchAll(/^event: (.*)/gm)].map(([, type]) => type);
    expect(types.filter((type) => type === "response.output_text.delta")).toHaveLength(
      deltas.length,
    );
    expect(types.at(-1)).toBe("response.completed");
    rmSync(folder, { recursive: true });
  }, 120_000);

  it("sends the head of its stream before the upstream has said anything", async () => {
    await using upstream = await fakeUpstream(() => sse(hang));
    await using served = await serve({
      ...onto("chat", upstream.url),
      server: { keepalive_ms: 0 },
    });
    const begun = await fetch(`${served.url}/v1/responses`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...asked, stream: true }),
    });
    expect(begun.headers.get("content-type")).toMatch("text/event-stream");
    const { id } = await clientOf(served).responses.create(asked);
    const followed = await fetch(`${served.url}/v1/responses/${id}?stream=true`);
    expect(followed.headers.get("content-type")).toMatch("text/event-stream");
    for (const { body } of [begun, followed]) await body?.cancel();
  });

  it("is deleted while it is made, and does not come back", async () => {
    await using upstream = await halting("chat");
    await using served = await serve(onto("chat", upstream.url));
    const client = clientOf(served);
    const { id } = await client.responses.create(asked);
    await client.responses.delete(id);
    expect(await error(client.responses.retrieve(id))).toMatchObject({ status: 404 });
    await expect.poll(() => served.turns().length).toBe(1);
    expect(await error(client.responses.retrieve(id))).toMatchObject({ status: 404 });
    upstream.go();
  });

  it("is failed when its upstream refuses it", async () => {
    await using upstream = await fakeUpstream(() => json({ error: { message: "No." } }, 500));
    await using served = await serve(onto("chat", upstream.url));
    const client = clientOf(served);
    const { id } = await client.responses.create(asked);
    expect(await ended(client, id)).toMatchObject({
      status: "failed",
      error: { code: "upstream.failed" },
    });
    const stream = await (await fetch(`${served.url}/v1/responses/${id}?stream=true`)).text();
    expect(stream.match(/(?<=^event: ).*/gm)).toEqual([
      "response.created",
      "response.in_progress",
      "error",
      "response.failed",
    ]);
  });

  it("is refused like any other where the request is wrong", async () => {
    await using upstream = await halting("chat");
    await using served = await serve({ tools: { strict: true }, ...onto("chat", upstream.url) });
    const client = clientOf(served);
    const lossy = { ...asked, tools: [{ type: "web_search" } as const] };
    expect(await error(client.responses.create(lossy))).toMatchObject({
      status: 400,
      code: "plan.lossy",
    });
    expect(served.turns()).toMatchObject([{ outcome: "failed", status: 400 }]);
  });

  it("needs to be stored", async () => {
    await using upstream = await halting("chat");
    const wrong = { status: 400, code: "request.invalid", param: "background" };
    await using served = await serve(onto("chat", upstream.url));
    const unstored = { ...asked, store: false };
    expect(await error(clientOf(served).responses.create(unstored))).toMatchObject(wrong);
    await using off = await serve({ store: { kind: "off" }, ...onto("chat", upstream.url) });
    expect(await error(clientOf(off).responses.create(asked))).toMatchObject(wrong);
    expect(upstream.requests).toEqual([]);
  });

  it("is the only kind that can be cancelled and taken up again", async () => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Hi." }));
    await using served = await serve(onto("chat", upstream.url));
    const client = clientOf(served);
    const { id } = await client.responses.create({ model: "m", input: "Hi" });
    const wrong = { status: 400, code: "response.not_background" };
    expect(await error(client.responses.cancel(id))).toMatchObject(wrong);
    expect(await error(client.responses.retrieve(id, { stream: true }))).toMatchObject(wrong);
    expect(await error(client.responses.cancel("resp_none"))).toMatchObject({ status: 404 });
  });
});
