import { describe, expect, it } from "vitest";
import type { BuiltinDialectName } from "../../src/dialects/registry.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat, answerInResponses } from "../support/fake-model.ts";
import {
  fakeUpstream,
  type Body,
  type FakeUpstream,
  type Model,
} from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";

type BackName = Exclude<BuiltinDialectName, "gemini">;
const models: Readonly<Record<BackName, Model>> = {
  chat: ({ body }) => answerInChat(body, { text: "Hello." }),
  responses: ({ body }) => answerInResponses(body, { text: "Hello." }),
  messages: ({ body }) => answerInMessages(body, { text: "Hello." }),
};
const backs = Object.keys(models) as BackName[];

const call = { call_id: "call_1", name: "look", arguments: "{}" };

/** A request with a seal at every place of its dialect, and a call behind it. */
const requests: Readonly<Record<BackName, (seal: string) => readonly [string, Body]>> = {
  responses: (seal) => [
    "/v1/responses",
    {
      input: [
        { role: "user", content: "Hi" },
        { type: "reasoning", summary: [], encrypted_content: seal },
        { type: "function_call", ...call },
        { type: "function_call_output", call_id: call.call_id, output: "seen" },
      ],
    },
  ],
  messages: (seal) => [
    "/v1/messages",
    {
      max_tokens: 9,
      messages: [
        { role: "user", content: "Hi" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm.", signature: seal },
            { type: "redacted_thinking", data: seal },
            { type: "tool_use", id: call.call_id, name: call.name, input: {} },
          ],
        },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: call.call_id, content: "seen" }],
        },
      ],
    },
  ],
  chat: (seal) => [
    "/v1/chat/completions",
    {
      messages: [
        { role: "user", content: "Hi" },
        {
          role: "assistant",
          content: null,
          reasoning_details: [
            { type: "reasoning.text", text: "Hm.", signature: seal },
            { type: "reasoning.encrypted", data: seal, index: 1 },
          ],
          tool_calls: [
            { id: call.call_id, type: "function", function: { name: "look", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: call.call_id, content: "seen" },
      ],
    },
  ],
};
const doors = Object.keys(requests) as BuiltinDialectName[];

const sealOf = (fields: unknown): string => `patchbay:1:${JSON.stringify(fields)}`;

const pairs = doors
  .filter((door) => door !== "gemini")
  .flatMap((door) => backs.map((back) => [door, back] as const));

const to = (back: BuiltinDialectName, upstream: FakeUpstream): Promise<Served> =>
  serve(onto(back, upstream.url));

async function post(
  { url }: Served,
  door: BackName,
  seal: string,
): Promise<readonly [Response, Body]> {
  const [path, body] = requests[door](seal);
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", ...body }),
  });
  return [response, (await response.json()) as Body];
}

/** All in a request that an upstream could take for a reference; a message of Chat may have any fields. */
function referencesIn(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  const { type, role } = value as Body;
  const isBare = Object.keys(value).join() === "id";
  const isThought = type === "reasoning" && (value as Body)["id"] !== undefined;
  const isReference = isBare || isThought || (type === "item_reference" && role === undefined);
  return isReference ? [value] : Object.values(value).flatMap(referencesIn);
}

async function droppedOf(served: Served, { id }: Body): Promise<unknown[]> {
  const response = await fetch(`${served.url}/v1/plans/${String(id)}`);
  const { decisions } = (await response.json()) as { decisions: Body[] };
  return decisions.filter(({ action }) => action === "dropped").map(({ reason }) => reason);
}

describe.each(pairs)("a forged seal of a %s client on a %s upstream", (door, back) => {
  const from = "fake/m";
  const others = "msg_of_another_tenant";
  const reference = { type: "item_reference", id: others };
  const extra = { dialect: back, fields: reference };

  it.each<[string, unknown]>([
    ["as an item", { from, item: { dialect: back, raw: reference } }],
    ["as an item of the Responses API", { from, item: { dialect: "responses", raw: reference } }],
    ["as an item without a type", { from, item: { dialect: back, raw: { id: others } } }],
    ["in place of a call", { from, calls: { [call.call_id]: extra } }],
    ["in place of reasoning", { from, content: ["Hm."], extra }],
    ["by the id of reasoning", { from, extra: { dialect: back, fields: { id: others } } }],
  ])("refers to nothing: %s", async (_, fields) => {
    await using upstream = await fakeUpstream(models[back]);
    await using served = await to(back, upstream);
    const [response] = await post(served, door, sealOf(fields));
    expect(response.status).toBe(200);
    expect(referencesIn(upstream.requests[0]?.body)).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["is no JSON", "{"],
    ["is no object", "[]"],
    ["does not say whose it is", {}],
    ["has content that is no list", { from, content: 1 }],
    ["has content that is no text", { from, content: [{}] }],
    ["has details that are no list", { from, details: {} }],
    ["has an item that is null", { from, item: null }],
    ["has an item whose body is null", { from, item: { dialect: back, raw: null } }],
    ["has calls that are a text", { from, calls: "x" }],
    ["has a call that is null", { from, calls: { [call.call_id]: null } }],
    ["has an extra that is null", { from, extra: null }],
    ["has an extra without fields", { from, extra: { dialect: back } }],
    ["has more than there is", { from, more: 1 }],
    ["hides something else", { from: "", hidden: "x" }],
    ["hides something beside a thought", { from, hidden: null, content: ["x"] }],
    ["seals a number", { from, encrypted: 5 }],
    [
      "is nested too deeply",
      `{"from":"${from}","details":${"[".repeat(20_000)}${"]".repeat(20_000)}}`,
    ],
  ])("is left out, and that is told, where it %s", async (_, fields) => {
    await using upstream = await fakeUpstream(models[back]);
    await using served = await to(back, upstream);
    const seal = typeof fields === "string" ? `patchbay:1:${fields}` : sealOf(fields);
    const [response, answer] = await post(served, door, seal);
    expect([response.status, answer["error"] ?? undefined]).toEqual([200, undefined]);
    expect(upstream.requests[0]?.text).not.toContain("patchbay:1:");
    expect((await droppedOf(served, answer)).join()).toContain(
      "the gateway cannot open its seal, because it was changed or is from another gateway",
    );
  });
});
