import { describe, expect, it } from "vitest";
import { upstreamDialects, type DoorName } from "../support/client.ts";
import { answerInChat, answerInResponses, wantedCalls } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

const functions = wantedCalls.map(({ name }) => ({ name, parameters: { type: "object" } }));
const question = { role: "user", content: "Weather in Paris, time in Tokyo?" };
const [weather] = wantedCalls;
const made = { name: weather.name, arguments: weather.arguments };

const says = { chat: answerInChat, responses: answerInResponses };

/** Posts a chat request to a gateway whose upstream makes two calls, whatever it is told. */
async function post(dialect: DoorName, body: Body): Promise<[string, Body]> {
  await using upstream = await fakeUpstream((heard) =>
    says[dialect](heard.body, { calls: wantedCalls }),
  );
  await using served = await serve(onto(dialect, upstream.url));
  const response = await fetch(`${served.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", ...body }),
  });
  return [await response.text(), upstream.requests[0]?.body ?? {}];
}

describe.each(upstreamDialects)("functions, with a %s upstream", (dialect) => {
  it("are offered as tools, which every upstream knows, and one at a time", async () => {
    const [, heard] = await post(dialect, { messages: [question], functions });
    const named = (heard["tools"] as Body[]).map((tool) => tool["function"]?.name ?? tool["name"]);
    expect(named).toEqual(functions.map(({ name }) => name));
    expect(heard).toMatchObject({ parallel_tool_calls: false });
    expect(heard).not.toHaveProperty("functions");
  });

  it("are called in the form that has room for one call", async () => {
    const [text] = await post(dialect, { messages: [question], functions });
    const [choice] = (JSON.parse(text) as Body)["choices"];
    expect(choice).toMatchObject({ message: { function_call: made } });
    expect(choice.message).not.toHaveProperty("tool_calls");
    expect(choice.finish_reason).toBe("function_call");
  });

  it("are called in that form in streams too", async () => {
    const [text] = await post(dialect, { messages: [question], functions, stream: true });
    expect(text).toContain(`"function_call":{"name":"${weather.name}"`);
    expect(text).toContain('"finish_reason":"function_call"');
    expect(text).not.toContain("tool_calls");
  });
});

it("tells a chat upstream of old calls and their results in the form of today", async () => {
  const messages = [
    question,
    { role: "assistant", content: null, function_call: made },
    { role: "function", name: weather.name, content: "sunny" },
  ];
  const [, heard] = await post("chat", { messages, functions });
  const [, call, result] = heard["messages"] as Body[];
  expect(call).toMatchObject({ role: "assistant", tool_calls: [{ function: made }] });
  expect(call).not.toHaveProperty("function_call");
  expect(result).toMatchObject({
    role: "tool",
    tool_call_id: call?.["tool_calls"][0].id,
    content: "sunny",
  });
});
