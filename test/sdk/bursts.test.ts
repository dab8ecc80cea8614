import { createOpenAI } from "@ai-sdk/openai";
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents";
import { generateText, isStepCount, jsonSchema, streamText, tool as aiTool } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseConfig, type ConfigInput } from "../../src/gateway/config.ts";
import { writeUseTool } from "../../src/tools/text-calls/use-tool.ts";
import { burstInChat, burstInResponses, type Part } from "../support/burst-model.ts";
import { askWithin, doors, type DoorName, upstreamDialects } from "../support/client.ts";
import { fakeUpstream, type FakeUpstream, type ReceivedRequest } from "../support/fake-upstream.ts";
import { eventFaults, hasSchema, responseFaults } from "../support/open-responses.ts";
import { readResponsesEvents } from "../support/responses-reader.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { question, schemas, toolNames } from "./gateway.ts";

setTracingDisabled(true);

/** The third call repeats the first in other words. */
const made = [
  { id: "call_0", name: "get_weather", arguments: '{"city":"Zürich 🏔️","unit":"°C"}' },
  { id: "call_1", name: "get_time", arguments: '{"city":"東京 <&>"}' },
  { id: "call_2", name: "get_weather", arguments: '{"unit": "°C", "city": "Zürich 🏔️"}' },
] as const;
const opening = "Let me see.";
const ending = "It is fine.";

/** What a model does: three calls between words, and once it has results, a last word. */
function partsFor({ text }: ReceivedRequest): readonly Part[] {
  if (text.includes("call_0") && text.includes(RESULT)) return [{ text: ending }];
  return [{ text: opening }, ...made.map((call) => ({ call })), { text: "So." }];
}
const RESULT = "the result of a tool";

const rules: Readonly<Record<string, { tools: ConfigInput["tools"]; given: readonly number[] }>> = {
  "no rule": { tools: {}, given: [0, 1, 2] },
  "a cap": { tools: { block_max: 2 }, given: [0, 1] },
  "a stop": { tools: { stop_after_mode: "first" }, given: [0] },
  "no repeats and no tail": { tools: { block_dedup: true, suppress_tail: true }, given: [0, 1] },
  "all of them": {
    tools: {
      block_max: 2,
      block_dedup: true,
      suppress_tail: true,
      stop_after: true,
      stop_after_grace_ms: 30,
    },
    given: [0, 1],
  },
};

type Kit = {
  readonly door: DoorName;
  readonly stream: boolean;
  readonly client: OpenAI;
  readonly url: string;
  readonly fetch: Served["fetch"];
  readonly headers: Record<string, string>;
  readonly called: { readonly name: string; readonly input: unknown }[];
};
/** A client that asks, and runs the tools it is told to; says all that the model said. */
type Reader = (kit: Kit) => Promise<string>;

const named = {
  chat: toolNames.map((name) => ({
    type: "function" as const,
    function: { name, parameters: schemas[name], strict: true },
  })),
  responses: toolNames.map((name) => ({
    type: "function" as const,
    name,
    parameters: schemas[name],
    strict: true,
  })),
};

const run = ({ called }: Kit, name: string, input: unknown): string => {
  called.push({ name, input });
  return RESULT;
};

const openaiChat: Reader = async (kit) => {
  const { completions } = kit.client.chat;
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: question }];
  let said = "";
  for (let round = 0; round < 4; round++) {
    const params = { model: "m", messages, tools: named.chat };
    const { choices } = kit.stream
      ? await completions.stream(params).finalChatCompletion()
      : await completions.create(params);
    const message = choices[0]?.message;
    said += message?.content ?? "";
    if (message?.tool_calls === undefined || message.tool_calls.length === 0) return said;
    expect(choices[0]?.finish_reason).toBe("tool_calls");
    messages.push(message);
    for (const call of message.tool_calls) {
      if (call.type !== "function") throw new Error(call.type);
      const content = run(kit, call.function.name, JSON.parse(call.function.arguments));
      messages.push({ role: "tool", tool_call_id: call.id, content });
    }
  }
  return said;
};

const openaiResponses: Reader = async (kit) => {
  const { responses } = kit.client;
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: question }];
  let said = "";
  for (let round = 0; round < 4; round++) {
    const params = { model: "m", input, tools: named.responses };
    const { output, output_text }: OpenAI.Responses.Response = kit.stream
      ? await responses.stream(params).finalResponse()
      : await responses.create(params);
    said += output_text;
    const calls = output.filter((item) => item.type === "function_call");
    if (calls.length === 0) return said;
    input.push(...(output as OpenAI.Responses.ResponseInputItem[]));
    for (const { call_id, name, arguments: text } of calls)
      input.push({
        type: "function_call_output",
        call_id,
        output: run(kit, name, JSON.parse(text)),
      });
  }
  return said;
};

const openai: Reader = (kit) => (kit.door === "chat" ? openaiChat(kit) : openaiResponses(kit));

const agents: Reader = async (kit) => {
  const tools = toolNames.map((name) =>
    tool({
      name,
      description: name,
      parameters: schemas[name],
      strict: true,
      execute: (input) => run(kit, name, input),
    }),
  );
  const agent = new Agent({ name: "Guide", model: "m", tools });
  const runner = new Runner({
    modelProvider: new OpenAIProvider({
      openAIClient: kit.client,
      useResponses: kit.door === "responses",
    }),
    tracingDisabled: true,
  });
  if (!kit.stream) {
    const { newItems } = await runner.run(agent, question);
    return newItems
      .map((item) => (item.type === "message_output_item" ? item.content : ""))
      .join("");
  }
  const streamed = await runner.run(agent, question, { stream: true });
  let said = "";
  for await (const piece of streamed.toTextStream()) said += piece;
  await streamed.completed;
  return said;
};

const ai: Reader = async (kit) => {
  const { door, url, headers, fetch } = kit;
  const model = createOpenAI({ baseURL: url, apiKey: "unused", headers, fetch })[door]("m");
  const tools = Object.fromEntries(
    toolNames.map((name) => [
      name,
      aiTool({
        description: name,
        inputSchema: jsonSchema(schemas[name]),
        execute: (input: unknown) => run(kit, name, input),
      }),
    ]),
  );
  const options = { model, tools, stopWhen: isStepCount(4), prompt: question, maxRetries: 0 };
  if (!kit.stream) return (await generateText(options)).steps.map(({ text }) => text).join("");
  const errors: unknown[] = [];
  const streamed = streamText({ ...options, onError: ({ error }) => void errors.push(error) });
  const steps = await streamed.steps;
  expect(errors).toEqual([]);
  return steps.map(({ text }) => text).join("");
};

const readers = { openai, agents, ai };

describe.each(upstreamDialects)("a burst of three, made by a %s upstream", (back) => {
  let upstream: FakeUpstream;
  let served: Served;
  beforeAll(async () => {
    const play = back === "chat" ? burstInChat : burstInResponses;
    upstream = await fakeUpstream((heard) => play(heard, partsFor(heard)));
    served = await serve(onto(back, upstream.url));
  });
  afterAll(async () => {
    await served[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  const outputs = ["openai-json", "obsidian-xml"] as const;
  const rows = Object.entries(rules).flatMap(([rule, { tools, given }]) =>
    outputs.flatMap((output) =>
      doors.flatMap((door) =>
        [true, false].map((stream) => ({ rule, tools, given, output, door, stream })),
      ),
    ),
  );

  describe.each(rows)("under $rule in $output, through $door, stream: $stream", (row) => {
    const { tools, given, output, door, stream } = row;
    const headers = { "x-proxy-output-mode": output };
    beforeAll(() =>
      served.gateway.reconfigure(parseConfig({ ...onto(back, upstream.url), tools })),
    );

    it.each(["openai", "agents", "ai"] as const)("is read by %s", async (reader) => {
      const url = `${served.url}/v1`;
      const { fetch } = served;
      const keyless = { apiKey: "unused", maxRetries: 0 };
      const client = new OpenAI({ baseURL: url, ...keyless, defaultHeaders: headers, fetch });
      const kit: Kit = { door, stream, url, headers, fetch, client, called: [] };
      const said = await readers[reader](kit);
      const wanted = given.map((at) => made[at]).filter((one) => one !== undefined);
      expect(kit.called).toEqual(
        wanted.map(({ name, arguments: input }) => ({ name, input: JSON.parse(input) as unknown })),
      );
      const blocks = wanted.map(({ name, arguments: input }) =>
        writeUseTool(name, input, schemas[name]),
      );
      const shown = blocks.filter((block) => said.includes(block));
      expect(shown).toEqual(output === "obsidian-xml" ? blocks : []);
      expect(said.endsWith(ending)).toBe(true);
    });

    if (door === "chat") return; // The schema is of the other door.
    it.skipIf(!hasSchema)("keeps to the Open Responses schema", async () => {
      const response = await askWithin(served, door, { stream, tools: named[door] }, { headers });
      const text = await response.text();
      const faults = stream
        ? readResponsesEvents(text).flatMap((event) => eventFaults(event as { type: string }))
        : responseFaults(JSON.parse(text));
      expect(faults).toEqual([]);
    });
  });
});
