import Anthropic from "@anthropic-ai/sdk";
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, isStepCount, jsonSchema, tool } from "ai";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { clientOf } from "../sdk/gateway.ts";
import { onto, serve } from "../support/serve.ts";

const call = { id: "toolu_1", name: "look", arguments: "{}" };
const thinking = { text: "I look.", reasoning: "Where is it?", calls: [call] };
const parameters = { type: "object" as const, properties: {} };

/** Thinks and calls once, then answers. */
const claude = ({ body }: { readonly body: Body }) =>
  answerInMessages(
    body,
    (body["messages"] as unknown[]).length > 1 ? { text: "There." } : thinking,
  );

const claudeConfig = (url: string) =>
  onto("messages", url, { profile: "anthropic", base_url: url });

/** The assistant's content in the last request. */
const answered = ({
  requests,
}: {
  readonly requests: readonly { readonly body: Body }[];
}): unknown =>
  ((requests.at(-1)?.body["messages"] ?? []) as Body[]).find(({ role }) => role === "assistant")?.[
    "content"
  ];

const whole = [
  { type: "thinking", thinking: "Where is it?", signature: "sig" },
  { type: "text", text: "I look." },
  { type: "tool_use", id: "toolu_1", name: "look", input: {} },
];

describe("thoughts that a client drops", () => {
  it("are put back before the calls of a chat client on a Messages upstream", async () => {
    await using upstream = await fakeUpstream(claude);
    await using served = await serve(claudeConfig(upstream.url));
    const tools = [{ type: "function" as const, function: { name: "look", parameters } }];
    const client = clientOf(served).chat.completions;
    const hi = { role: "user" as const, content: "Where?" };
    const { choices } = await client.create({ model: "claude-opus-4-5", tools, messages: [hi] });
    const { content = "", tool_calls = [] } = choices[0]?.message ?? {};
    const result = {
      role: "tool" as const,
      tool_call_id: tool_calls[0]?.id ?? "",
      content: "Here.",
    };
    const said = { role: "assistant" as const, content, tool_calls };
    await client.create({ model: "claude-opus-4-5", tools, messages: [hi, said, result] });
    expect(answered(upstream)).toEqual(whole);
  });

  it("are put back for a Messages client, which leaves the straight lane for it", async () => {
    await using upstream = await fakeUpstream(claude);
    await using served = await serve(claudeConfig(upstream.url));
    const client = new Anthropic({ baseURL: served.url, apiKey: "unused", maxRetries: 0 });
    const asked = {
      model: "claude-opus-4-5",
      max_tokens: 100,
      tools: [{ name: "look", input_schema: parameters }],
    };
    const hi = { role: "user" as const, content: "Where?" };
    const { content } = await client.messages.create({ ...asked, messages: [hi] });
    const said = {
      role: "assistant" as const,
      content: content.filter(({ type }) => type !== "thinking"),
    };
    const result = { type: "tool_result" as const, tool_use_id: "toolu_1", content: "Here." };
    const results = { role: "user" as const, content: [result] };
    await client.messages.create({ ...asked, messages: [hi, said, results] });
    expect(answered(upstream)).toEqual(whole);
    const plan = await fetch(`${served.url}/v1/plan`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...asked, messages: [hi, said, results] }),
    });
    expect(await plan.text()).toContain("because the client did not send them");
  });

  it("are never given to another model than the one that made them", async () => {
    await using upstream = await fakeUpstream(claude);
    await using served = await serve(claudeConfig(upstream.url));
    const client = new Anthropic({ baseURL: served.url, apiKey: "unused", maxRetries: 0 });
    const tools = [{ name: "look", input_schema: parameters }];
    const hi = { role: "user" as const, content: "Where?" };
    const asked = { max_tokens: 100, tools };
    await client.messages.create({ ...asked, model: "claude-opus-4-5", messages: [hi] });
    const said = {
      role: "assistant" as const,
      content: whole.slice(1) as Anthropic.ContentBlock[],
    };
    const result = { type: "tool_result" as const, tool_use_id: "toolu_1", content: "Here." };
    const results = { role: "user" as const, content: [result] };
    const messages = [hi, said, results];
    await client.messages.create({ ...asked, model: "claude-opus-4-6", messages });
    expect(answered(upstream)).toEqual(whole.slice(1));
  });

  it("are put back towards a chat upstream that refuses calls without them", async () => {
    await using upstream = await fakeUpstream(({ body }) => {
      const isAnswered = (body["messages"] as Body[]).some(({ role }) => role === "tool");
      return answerInChat(body, isAnswered ? { text: "There." } : thinking);
    });
    await using served = await serve(onto("chat", upstream.url, { profile: "deepseek" }));
    const tools = [{ type: "function" as const, function: { name: "look", parameters } }];
    const { completions } = clientOf(served).chat;
    const hi = { role: "user" as const, content: "Where?" };
    const stream = completions.stream({ model: "deepseek-v4-pro", tools, messages: [hi] });
    const { choices } = await stream.finalChatCompletion();
    const { content = "", tool_calls = [] } = choices[0]?.message ?? {};
    const result = {
      role: "tool" as const,
      tool_call_id: tool_calls[0]?.id ?? "",
      content: "Here.",
    };
    const said = { role: "assistant" as const, content, tool_calls };
    await completions.create({ model: "deepseek-v4-pro", tools, messages: [hi, said, result] });
    const { messages = [] } = upstream.requests.at(-1)?.body ?? {};
    const sent = (messages as Body[])[1];
    expect(sent).toMatchObject({ reasoning_content: "Where is it?", content: "I look." });
  });

  it("are put back for a client of the Responses API whose answers are stored", async () => {
    await using upstream = await fakeUpstream(claude);
    await using served = await serve(claudeConfig(upstream.url));
    const client = clientOf(served).responses;
    const tools = [{ type: "function" as const, name: "look", parameters, strict: false }];
    const asked = { model: "claude-opus-4-5", tools };
    const { output } = await client.create({ ...asked, input: "Where?" });
    const said = output.filter(({ type }) => type !== "reasoning");
    const result = { type: "function_call_output" as const, call_id: "toolu_1", output: "Here." };
    const input = [{ role: "user" as const, content: "Where?" }, ...said, result];
    await client.create({ ...asked, input: input as OpenAI.Responses.ResponseInput });
    expect(answered(upstream)).toEqual(whole);
  });

  it("are put back for the AI SDK where it is told not to send them", async () => {
    await using upstream = await fakeUpstream(claude);
    await using served = await serve(claudeConfig(upstream.url));
    const settings = { baseURL: `${served.url}/v1`, apiKey: "unused" };
    const { text } = await generateText({
      model: createAnthropic(settings)("claude-opus-4-5"),
      tools: { look: tool({ inputSchema: jsonSchema(parameters), execute: () => "Here." }) },
      providerOptions: { anthropic: { sendReasoning: false } },
      stopWhen: isStepCount(3),
      prompt: "Where?",
      maxRetries: 0,
    });
    expect(text).toBe("There.");
    expect(answered(upstream)).toEqual(whole);
  });
});
