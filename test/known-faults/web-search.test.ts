import { describe, expect, it } from "vitest";
import { askWithin, doors, readAnswer } from "../support/client.ts";
import { chunk, answerInChat, answerInResponses, type FakeCall } from "../support/fake-model.ts";
import { done, json, sse, type Body, type Model } from "../support/fake-upstream.ts";
import { readResponsesEvents } from "../support/responses-reader.ts";
import {
  askBothWays,
  decisionsOn,
  lastRequest,
  messagesReceived,
  namesReceived,
  responseIn,
  fakeBackedGateway,
} from "./gateway.ts";

const parameters = {
  type: "object",
  properties: { query: { type: "string" } },
  required: ["query"],
};
const search = { type: "function", name: "web_search", parameters };
const look = { type: "function", name: "look", parameters };
const chatTools = [search, look].map(({ type, ...tool }) => ({ type, function: tool }));

const searched = (id: string, query: string): FakeCall => ({
  id,
  name: "web_search",
  arguments: JSON.stringify({ query }),
});
const looked = { id: "call_l", name: "look", arguments: '{"query":"c"}' };
const calling =
  (...calls: readonly FakeCall[]): Model =>
  ({ body }) =>
    answerInChat(body, { calls });

const answered = ({ call_id }: Body, output: string): Body => ({
  type: "function_call_output",
  call_id,
  output,
});

describe("a client's own function named web_search", () => {
  it.each([
    ["generic-chat", "chat"],
    ["zhipu", "chat"],
    ["mimo", "chat"],
    ["openrouter", "chat"],
    ["openai", "responses"],
  ] as const)("is the client's to run on %s", async (profile, dialect) => {
    const model: Model =
      dialect === "chat"
        ? calling(searched("call_1", "a"))
        : ({ body }) => answerInResponses(body, { calls: [searched("call_1", "a")] });
    await using here = await fakeBackedGateway(model, { profile, dialect });
    for (const { output } of await askBothWays(here, { tools: [search] }))
      expect(output).toMatchObject([
        {
          type: "function_call",
          call_id: "call_1",
          name: "web_search",
          arguments: '{"query":"a"}',
          status: "completed",
        },
      ]);
    expect(here.requests).toHaveLength(2);
    const offered = (lastRequest(here)["tools"] as Body[])[0];
    expect(offered?.["function"] ?? offered).toMatchObject({ name: "web_search" });
    expect(offered).toMatchObject({ type: "function" });
  });

  it("is told from the upstream's own search beside it", async () => {
    await using here = await fakeBackedGateway(calling(searched("call_1", "a")), {
      profile: "zhipu",
    });
    const tools = [{ type: "web_search" }, search];
    for (const { output } of await askBothWays(here, { tools }))
      expect(output).toMatchObject([{ type: "function_call", name: "web_search" }]);
    expect(lastRequest(here)["tools"]).toMatchObject([
      { type: "web_search", web_search: { enable: true } },
      { type: "function", function: { name: "web_search" } },
    ]);
  });
});

describe("searches made at once", () => {
  it.each([
    ["two searches", [searched("call_a", "a"), searched("call_b", "b")]],
    ["a search and another call", [searched("call_a", "a"), looked]],
    ["another call and a search", [looked, searched("call_b", "b")]],
    ["all of them", [searched("call_a", "a"), looked, searched("call_b", "b")]],
  ])("all arrive, once and in order, and go back with their results: %s", async (_, calls) => {
    await using here = await fakeBackedGateway(calling(...calls));
    for (const { output } of await askBothWays(here, { tools: [search, look] })) {
      const items = output as Body[];
      expect(items.map((item) => [item["call_id"], item["name"], item["arguments"]])).toEqual(
        calls.map((call) => [call.id, call.name, call.arguments]),
      );
      const results = items.map((item, at) => answered(item, `found ${at}`)).toReversed();
      await askWithin(here, "responses", { tools: [search, look], input: [...items, ...results] });
      expect(messagesReceived(here)).toMatchObject([
        { role: "assistant", tool_calls: calls.map(({ id }) => ({ id })) },
        ...calls.map(({ id }, at) => ({
          role: "tool",
          tool_call_id: id,
          content: `found ${at}`,
        })),
      ]);
    }
  });

  it.each(doors)("arrive at the %s door alike", async (door) => {
    await using here = await fakeBackedGateway(calling(searched("call_a", "a"), looked));
    const tools = door === "chat" ? chatTools : [search, look];
    for (const stream of [true, false])
      expect(
        (await readAnswer(door, await askWithin(here, door, { tools, stream }))).calls,
      ).toMatchObject([
        { id: "call_a", name: "web_search", input: '{"query":"a"}', complete: true },
        { id: "call_l", name: "look", input: '{"query":"c"}', complete: true },
      ]);
  });
});

it("a choice is forced once, in the request that forces it", async () => {
  await using here = await fakeBackedGateway(calling(searched("call_a", "a")));
  const forced = { type: "function", name: "web_search" };
  const [first] = await askBothWays(here, { tools: [search], tool_choice: forced });
  expect(here.requests.map(({ body }) => body["tool_choice"] as unknown)).toEqual([
    { type: "function", function: { name: "web_search" } },
    { type: "function", function: { name: "web_search" } },
  ]);
  const [made = {}] = (first?.["output"] ?? []) as Body[];
  await askWithin(here, "responses", { tools: [search], input: [made, answered(made, "found")] });
  expect(here.requests).toHaveLength(3);
  expect(lastRequest(here)).not.toHaveProperty("tool_choice");
});

it("every token that the upstream counts is told", async () => {
  await using here = await fakeBackedGateway(calling(searched("call_a", "a")));
  for (const response of await askBothWays(here, { tools: [search] }))
    expect(response["usage"]).toMatchObject({
      input_tokens: 11,
      output_tokens: 7,
      total_tokens: 18,
    });
});

it("text before and behind a call is two messages, each in its place", async () => {
  const entry = { index: 0, id: "call_a", type: "function" };
  const made = { ...entry, function: { name: "web_search", arguments: '{"query":"a"}' } };
  await using here = await fakeBackedGateway(() =>
    sse(
      chunk(0, { role: "assistant", content: "Let me" }),
      chunk(0, { tool_calls: [made] }),
      chunk(0, { content: "answer" }),
      chunk(0, {}, "tool_calls"),
      done,
    ),
  );
  for (const { output } of await askBothWays(here, { tools: [search] }))
    expect(output).toMatchObject([
      { type: "message", content: [{ text: "Let me" }] },
      { type: "function_call", name: "web_search" },
      { type: "message", content: [{ text: "answer" }] },
    ]);
});

it("a malformed query is announced, shown as it is and closed like any other", async () => {
  const malformed = { id: "call_a", name: "web_search", arguments: '{"query": a' };
  await using here = await fakeBackedGateway(calling(malformed));
  const text = await (await askWithin(here, "responses", { tools: [search], stream: true })).text();
  const about = readResponsesEvents(text).filter(({ type }) => /output_item/.test(type as string));
  expect(about).toMatchObject([
    { type: "response.output_item.added", item: { arguments: "" } },
    { type: "response.output_item.done", item: { arguments: '{"query": a' } },
  ]);
  const whole = await responseIn(await askWithin(here, "responses", { tools: [search] }));
  expect(whole["output"]).toMatchObject([{ type: "function_call", arguments: '{"query": a' }]);
});

describe.each(["zhipu", "mimo", "generic-chat"])("the search of an upstream like %s", (profile) => {
  const tools = [{ type: "web_search" }, look];

  it("is switched off by configuration", async () => {
    const capabilities = { tools: { kinds: { web_search: "ignore" } } };
    await using here = await fakeBackedGateway(({ body }) => answerInChat(body, { text: "ok" }), {
      profile,
      capabilities,
    });
    expect((await askWithin(here, "responses", { tools })).status).toBe(200);
    expect(namesReceived(here)).toEqual(["look"]);
    expect(await decisionsOn(here, { tools })).toMatchObject([{ path: "tools[0]" }]);
  });

  it("is switched on by configuration", async () => {
    const builtins = { web_search: { type: "own_search" } };
    const capabilities = { tools: { kinds: { web_search: "native" }, builtins } };
    await using here = await fakeBackedGateway(({ body }) => answerInChat(body, { text: "ok" }), {
      profile,
      capabilities,
    });
    expect((await askWithin(here, "responses", { tools })).status).toBe(200);
    expect(lastRequest(here)["tools"]).toMatchObject([
      { type: "own_search" },
      { type: "function" },
    ]);
  });
});

describe("a past search of the provider's own", () => {
  const item = {
    type: "web_search_call",
    id: "ws_1",
    status: "completed",
    action: { type: "search", query: "a" },
  };
  const input = [item, { role: "user", content: "And?" }];

  it("is kept for an upstream that knows it", async () => {
    await using here = await fakeBackedGateway(
      ({ body }) => answerInResponses(body, { calls: [looked] }),
      {
        dialect: "responses",
      },
    );
    for (const tools of [[look], [look, { type: "custom", name: "a.b" }]]) {
      await askWithin(here, "responses", { input, tools });
      expect((lastRequest(here)["input"] as Body[])[0]).toEqual(item);
    }
  });

  it("is reported where it is not", async () => {
    await using here = await fakeBackedGateway(({ body }) => answerInChat(body, { text: "ok" }));
    expect((await askWithin(here, "responses", { input })).status).toBe(200);
    expect(messagesReceived(here)).toMatchObject([{ role: "user", content: "And?" }]);
    expect(await decisionsOn(here, { input })).toMatchObject([
      { path: "input[0]", action: "dropped" },
    ]);
  });
});

it.each([true, false])(
  "a search that the provider made is told of where a chat answer cannot show it (streamed: %s)",
  async (stream) => {
    const item = { type: "web_search_call", id: "ws_1", status: "completed", action: {} };
    const response = { id: "resp_1", object: "response", status: "completed", model: "m" };
    const events = [
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { ...response, output: [item] } },
    ];
    const model: Model = () =>
      stream
        ? sse(...events.map((event) => `data: ${JSON.stringify(event)}\n\n`))
        : json({ ...response, output: [item] });
    await using here = await fakeBackedGateway(model, { dialect: "responses" });
    const answer = await askWithin(here, "chat", { stream });
    const [, id] = /"id":"(chatcmpl[^"]+)"/.exec(await answer.text()) ?? [];
    const plan = await fetch(`${here.url}/v1/plans/${id}`);
    expect(((await plan.json()) as Body)["decisions"]).toContainEqual({
      path: "output.choices[0]",
      action: "dropped",
      reason: "a chat answer has no form for `web_search_call`",
    });
  },
);
