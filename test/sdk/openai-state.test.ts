import { NotFoundError } from "openai";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { describe, expect, it } from "vitest";
import { serve } from "../support/serve.ts";
import { clientOf } from "./gateway.ts";

async function allOf<Item>(pages: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of pages) all.push(item);
  return all;
}

describe("the openai SDK", () => {
  it("is told how many tokens a request has, and that it is an estimate", async () => {
    await using served = await serve({
      upstreams: { demo: { dialect: "scripted" } },
      models: { demo: "demo/demo" },
    });
    const { responses } = clientOf(served);
    const asked = { model: "demo", input: "What is the weather in Paris?" };
    const short = await responses.inputTokens.count(asked).withResponse();
    expect(short.data).toEqual({ object: "response.input_tokens", input_tokens: 11 });
    expect(short.response.headers.get("x-patchbay-token-count")).toBe("estimate");
    const tools = [{ type: "function", name: "f", parameters: {}, strict: null }] as const;
    const long = await responses.inputTokens.count({ ...asked, tools: [...tools] });
    expect(long.input_tokens).toBeGreaterThan(11);
    const unknown = responses.inputTokens.count({ ...asked, model: "nobody" });
    await expect(unknown).rejects.toThrow(NotFoundError);
  });

  it("creates, fills, continues and deletes conversations", async () => {
    await using served = await serve({});
    const { conversations, responses } = clientOf(served);
    const items = [{ type: "message" as const, role: "user" as const, content: "Hello" }];
    const { id } = await conversations.create({ metadata: { topic: "demo" }, items });
    expect(await conversations.update(id, { metadata: { topic: "other" } })).toEqual(
      await conversations.retrieve(id),
    );
    const answer = await responses.create({ model: "demo", conversation: id, input: "And?" });
    expect(answer.conversation).toEqual({ id });
    await conversations.items.create(id, { items });
    const listed = await conversations.items.list(id, { order: "asc", limit: 2 });
    expect(listed.hasNextPage()).toBe(true);
    const all = await allOf(listed);
    expect(all).toHaveLength(4);
    const last = all.at(-1)?.id ?? "";
    const one = await conversations.items.retrieve(last, { conversation_id: id });
    expect(one).toEqual(all.at(-1));
    await conversations.items.delete(last, { conversation_id: id });
    expect(await allOf(conversations.items.list(id))).toHaveLength(3);
    expect((await conversations.delete(id)).deleted).toBe(true);
    await expect(conversations.retrieve(id)).rejects.toThrow(NotFoundError);
  });

  it("stores, lists, shows, changes and deletes chat completions", async () => {
    await using served = await serve({});
    const { completions } = clientOf(served).chat;
    const messages = [{ role: "user" as const, content: "Hello" }];
    const request = { model: "demo", messages, store: true, metadata: { topic: "a" } };
    const first = await completions.create(request);
    const stream = await completions.create({
      ...request,
      metadata: { topic: "b" },
      stream: true,
    });
    let second = "";
    for await (const chunk of stream) second = chunk.id;
    await completions.create({ ...request, store: false });
    const listed = await allOf(completions.list());
    expect(listed.map(({ id }) => id)).toEqual([first.id, second]);
    expect(await allOf(completions.list({ metadata: { topic: "b" } }))).toEqual([listed[1]]);
    expect(await allOf(completions.list({ model: "nobody" }))).toEqual([]);
    expect(await allOf(completions.list({ limit: 1, order: "desc" }))).toHaveLength(2);
    expect(await completions.retrieve(first.id)).toEqual({
      ...first,
      metadata: { topic: "a" },
    });
    expect(listed[1]?.choices[0]?.message).toEqual(listed[0]?.choices[0]?.message);
    const kept = await allOf(completions.messages.list(first.id));
    expect(kept).toMatchObject([{ role: "user", content: "Hello" }]);
    const changed = await completions.update(first.id, { metadata: { topic: "c" } });
    expect(await completions.retrieve(first.id)).toEqual(changed);
    expect((await completions.delete(first.id)).deleted).toBe(true);
    await expect(completions.retrieve(first.id)).rejects.toThrow(NotFoundError);
    await expect(completions.retrieve("conv_1")).rejects.toThrow(NotFoundError);
  });

  it("compacts a conversation and goes on from what it got", async () => {
    await using served = await serve({});
    const { responses } = clientOf(served);
    const { output } = await responses.compact({ model: "demo", input: "We launch on Tuesday." });
    expect(output.map(({ type }) => type)).toEqual(["message", "compaction"]);
    const input = [...(output as ResponseInputItem[]), { role: "user" as const, content: "When?" }];
    const next = await responses.create({ model: "demo", input });
    expect(next.status).toBe("completed");
  });
});
