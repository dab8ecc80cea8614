/** A request of every door with most of what its requests may have, and an answer of every upstream. */

import { answerInGemini } from "../test/support/fake-gemini.ts";
import { answerInMessages } from "../test/support/fake-messages.ts";
import { answerInChat, answerInResponses, type FakeAnswer } from "../test/support/fake-model.ts";
import type { Answer } from "../test/support/fake-upstream.ts";

type Write = (say: FakeAnswer, stream: boolean) => Answer;

const asked = (stream: boolean) => ({ stream, stream_options: { include_usage: true } });
const answers: Readonly<Record<string, Write>> = {
  chat: (say, stream) => answerInChat(asked(stream), say),
  responses: (say, stream) => answerInResponses(asked(stream), say),
  messages: (say, stream) => answerInMessages(asked(stream), say),
  gemini: (say, stream) =>
    answerInGemini(
      `/models/m:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
      say,
    ),
};

/** The pieces of an answer that an upstream of this dialect gives. */
export function answerIn(dialect: string, say: FakeAnswer, stream = false): readonly string[] {
  const write = answers[dialect];
  if (write === undefined) throw new Error(`add an answer of ${dialect} to fuzz/examples.ts`);
  return Array.from(write(say, stream).steps as Iterable<unknown>, String);
}

const schema = {
  type: "object",
  properties: {
    city: { type: "string", minLength: 1, pattern: "^[A-Z]" },
    days: { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }] },
    tags: { type: "array", items: { enum: ["a", "b"] } },
    all: { allOf: [{ type: "object", properties: { x: { $ref: "#/$defs/x" } } }] },
  },
  $defs: { x: { type: "string", format: "date" } },
  required: ["city"],
  additionalProperties: false,
};

export const examples: Readonly<Record<string, object>> = {
  chat: {
    model: "demo/demo",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "Weather in Bern?" }] },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          {
            id: "call_1",
            type: "function",
            function: { name: "weather", arguments: '{"city":"Bern"}' },
          },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: "Sunny" },
      { role: "user", content: "And Rome?" },
    ],
    tools: [
      {
        type: "function",
        function: { name: "weather", description: "Weather", parameters: schema },
      },
    ],
    tool_choice: { type: "function", function: { name: "weather" } },
    response_format: { type: "json_schema", json_schema: { name: "x", schema } },
    stop: ["END"],
    stream_options: { include_usage: true },
    n: 1,
    max_tokens: 50,
    temperature: 0.5,
    metadata: { a: "b" },
  },
  responses: {
    model: "demo/demo",
    instructions: "Be brief.",
    input: [
      { role: "user", content: [{ type: "input_text", text: "Weather in Bern?" }] },
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] },
      { type: "function_call", id: "fc_1", call_id: "call_1", name: "weather", arguments: "{}" },
      { type: "function_call_output", call_id: "call_1", output: "Sunny" },
      { type: "item_reference", id: "msg_0" },
    ],
    tools: [
      { type: "function", name: "weather", parameters: schema, strict: true },
      { type: "custom", name: "patch", format: { type: "text" } },
      { type: "web_search" },
      {
        type: "namespace",
        name: "files",
        tools: [{ type: "function", name: "read", parameters: schema }],
      },
    ],
    tool_choice: {
      type: "allowed_tools",
      mode: "auto",
      tools: [{ type: "function", name: "weather" }],
    },
    text: { format: { type: "json_schema", name: "x", schema } },
    reasoning: { effort: "low" },
    metadata: { a: "b" },
    max_output_tokens: 50,
  },
  messages: {
    model: "demo/demo",
    max_tokens: 50,
    system: [{ type: "text", text: "Be brief." }],
    messages: [
      { role: "user", content: [{ type: "text", text: "Weather in Bern?" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "x" },
          { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Bern" } },
        ],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "Sunny" }],
      },
    ],
    tools: [
      { name: "weather", description: "Weather", input_schema: schema },
      { type: "bash_20250124", name: "bash" },
    ],
    tool_choice: { type: "tool", name: "weather" },
    stop_sequences: ["END"],
    thinking: { type: "enabled", budget_tokens: 1024 },
    metadata: { user_id: "u" },
  },
  gemini: {
    model: "demo/demo",
    systemInstruction: { parts: [{ text: "Be brief." }] },
    contents: [
      {
        role: "user",
        parts: [
          { text: "Weather in Bern?" },
          { inlineData: { mimeType: "image/png", data: "AA==" } },
          { file_data: { file_uri: "https://a.example/b.pdf" } },
        ],
      },
      {
        role: "model",
        parts: [
          { text: "Hm.", thought: true },
          { text: "So.", thoughtSignature: "c2lnbmVk" },
          {
            functionCall: { id: "call_1", name: "weather", args: { city: "Bern" } },
            thoughtSignature: "cGF0Y2hiYXk6MTp7ImZyb20iOiJkZW1vL2RlbW8iLCJlbmNyeXB0ZWQiOiJ4In0=",
          },
          { functionCall: { name: "weather", args: {} } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "call_1", name: "weather", response: { output: "Sunny" } } },
          { function_response: { name: "weather", response: { error: "No such city" } } },
        ],
      },
      { parts: { text: "And Rome?" } },
    ],
    tools: [
      {
        functionDeclarations: [
          { name: "weather", description: "Weather", parametersJsonSchema: schema },
          {
            name: "find",
            parameters: {
              type: "OBJECT",
              properties: { at: { type: "STRING", nullable: true, maxLength: "5" } },
              propertyOrdering: ["at"],
            },
          },
        ],
      },
      { googleSearch: {} },
    ],
    toolConfig: { functionCallingConfig: { mode: "VALIDATED", allowedFunctionNames: ["weather"] } },
    generationConfig: {
      temperature: 0.5,
      maxOutputTokens: "50",
      stopSequences: ["END"],
      responseMimeType: "application/json",
      responseJsonSchema: schema,
      thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 },
    },
    safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "OFF" }],
  },
};
