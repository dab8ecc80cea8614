import {
  args,
  calls,
  chunk,
  delta,
  head,
  piece,
  role,
  stop,
  text,
} from "../support/chat-frames.ts";
import type { Body } from "../support/fake-upstream.ts";
import { DONE, type Quirk, type Sent } from "./quirk.ts";

const look = { name: "look", input: '{"a":1}', id: "call_1" };
const find = { name: "find", input: '{"b":2}', id: "call_2" };
const made = { name: "look", input: '{"a":1}' };
const entry = (id: unknown, name: unknown, input: unknown, more: Body = {}): Body => ({
  id,
  type: "function",
  function: { name, arguments: input },
  ...more,
});
const whole = entry("call_1", "look", '{"a":1}');
const wholeFind = entry("call_2", "find", '{"b":2}');
const stream = (...frames: readonly Sent[]): Quirk["wire"] => ({
  stream: [role, ...frames, calls, DONE],
});
const body = (...entries: readonly unknown[]): Quirk["wire"] => ({
  body: {
    ...chunk([]),
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: null, tool_calls: entries },
        finish_reason: "tool_calls",
      },
    ],
  },
});

/** How chat servers say a call: its id, its place, its name, its arguments. */
export const chatCalls = [
  {
    quirk: "an id that is empty in later fragments",
    providers: "Alibaba",
    wire: stream(
      head(0, "call_1", "look"),
      piece({ index: 0, id: "", function: { arguments: '{"a"' } }),
      piece({ index: 0, id: "", function: { arguments: ":1}" } }),
    ),
    sees: { calls: [look] },
  },
  {
    quirk: "an id and a name that are null in later fragments",
    providers: "SiliconFlow, gateways in Go",
    wire: stream(
      head(0, "call_1", "look"),
      piece({ index: 0, id: null, type: null, function: { name: null, arguments: '{"a":1}' } }),
    ),
    sees: { calls: [look] },
  },
  {
    quirk: "a name that is empty in later fragments",
    providers: "Mistral",
    wire: stream(
      head(0, "call_1", "look"),
      piece({ index: 0, type: "function", function: { name: "", arguments: '{"a":1}' } }),
    ),
    sees: { calls: [look] },
  },
  {
    quirk: "an id and a name repeated in every fragment",
    providers: "OpenRouter, vLLM",
    wire: stream(head(0, "call_1", "look", '{"a"'), head(0, "call_1", "look", ":1}")),
    sees: { calls: [look] },
  },
  {
    quirk: "a new id in every fragment of one call",
    providers: "gateways that make ids up",
    wire: stream(
      head(0, "call_1", "look", '{"a"'),
      piece({ index: 0, id: "call_9", function: { arguments: ":1}" } }),
    ),
    sees: { calls: [look] },
  },
  {
    quirk: "no id at all",
    providers: "Ollama, llama.cpp",
    wire: stream(piece({ index: 0, function: { name: "look", arguments: '{"a":1}' } })),
    sees: { calls: [made] },
  },
  {
    quirk: "two calls without ids",
    providers: "Ollama",
    wire: stream(
      piece({ index: 0, function: { name: "look", arguments: '{"a":1}' } }),
      piece({ index: 1, function: { name: "look", arguments: '{"a":1}' } }),
    ),
    sees: { calls: [made, made] },
  },
  {
    quirk: "one id for two calls",
    providers: "servers that number calls per answer",
    wire: stream(head(0, "call_1", "look", '{"a":1}'), head(1, "call_1", "look", '{"a":1}')),
    sees: { calls: [look, made] },
  },
  {
    quirk: "an id that is a number",
    providers: "local servers",
    wire: stream(piece({ index: 0, id: 7, function: { name: "look", arguments: '{"a":1}' } })),
    sees: { calls: [made] },
  },
  {
    quirk: "a call without an index, whole in one chunk that also ends the answer",
    providers: "Mistral",
    wire: { stream: [role, delta({ content: null, tool_calls: [whole] }, "tool_calls"), DONE] },
    sees: { calls: [look] },
  },
  {
    quirk: "two calls without an index in one chunk",
    providers: "Mistral, Gemini",
    wire: stream(delta({ tool_calls: [whole, wholeFind] })),
    sees: { calls: [look, find] },
  },
  {
    quirk: "two calls without an index, one after another in fragments",
    providers: "servers without indexes",
    wire: stream(
      piece(entry("call_1", "look", "")),
      piece({ function: { arguments: '{"a":1}' } }),
      piece(entry("call_2", "find", "")),
      piece({ function: { arguments: '{"b":2}' } }),
    ),
    sees: { calls: [look, find] },
  },
  {
    quirk: "indexes that start at 1, behind a text",
    providers: "Anthropic's compatible endpoint",
    wire: stream(text("Let me look."), head(1, "call_1", "look"), args(1, ""), args(1, '{"a":1}')),
    sees: { text: "Let me look.", calls: [look] },
  },
  {
    quirk: "indexes that leave numbers out",
    providers: "gateways that drop calls",
    wire: stream(head(0, "call_1", "look", '{"a":1}'), head(5, "call_2", "find", '{"b":2}')),
    sees: { calls: [look, find] },
  },
  {
    quirk: "an index that is a text",
    providers: "gateways in scripting languages",
    wire: stream(
      piece(entry("call_1", "look", '{"a"', { index: "0" })),
      piece({ index: "0", function: { arguments: ":1}" } }),
    ),
    sees: { calls: [look] },
  },
  {
    quirk: "several entries of one index in a chunk",
    providers: "gateways that merge chunks",
    wire: stream(
      delta({
        tool_calls: [
          { ...entry("call_1", "look", ""), index: 0 },
          { index: 0, function: { arguments: '{"a"' } },
          { index: 0, function: { arguments: ":1}" } },
        ],
      }),
    ),
    sees: { calls: [look] },
  },
  {
    quirk: "one index shared by two ids",
    providers: "Gemini's compatible endpoint, Ollama",
    wire: stream(head(0, "call_1", "look", '{"a":1}'), head(0, "call_2", "find", '{"b":2}')),
    sees: { calls: [look, find] },
  },
  {
    quirk: "calls whose fragments take turns",
    providers: "OpenAI with parallel calls, vLLM",
    wire: stream(
      head(0, "call_1", "look"),
      head(1, "call_2", "find"),
      args(0, '{"a"'),
      args(1, '{"b"'),
      args(0, ":1}"),
      args(1, ":2}"),
    ),
    sees: { calls: [look, find] },
  },
  {
    quirk: "whole arguments in one chunk",
    providers: "Groq, xAI",
    wire: stream(head(0, "call_1", "look", '{"a":1}')),
    sees: { calls: [look] },
  },
  {
    quirk: "arguments as an object",
    providers: "Ollama, LocalAI",
    wire: stream(piece(entry("call_1", "look", { a: 1 }, { index: 0 }))),
    sees: { calls: [look] },
  },
  {
    quirk: "arguments that are null, then come",
    providers: "DeepSeek behind gateways",
    wire: stream(piece(entry("call_1", "look", null, { index: 0 })), args(0, '{"a":1}')),
    sees: { calls: [look] },
  },
  {
    quirk: "arguments that are null for a call that takes none",
    providers: "Cohere",
    wire: stream(piece(entry("call_1", "look", null, { index: 0 }))),
    sees: { calls: [{ ...look, input: "{}" }] },
  },
  {
    quirk: "arguments that never come for a call that takes none",
    providers: "Amazon Bedrock, Anthropic's compatible endpoint",
    wire: stream(head(0, "call_1", "look")),
    sees: { calls: [{ ...look, input: "{}" }] },
  },
  {
    quirk: "arguments that are blanks for a call that takes none",
    providers: "servers that stream by token",
    wire: stream(head(0, "call_1", "look", " "), args(0, "\n")),
    sees: { calls: [{ ...look, input: " \n{}" }] },
  },
  {
    quirk: "a name in pieces",
    providers: "servers that stream by token",
    wire: stream(
      head(0, "call_1", "lo"),
      piece({ index: 0, function: { name: "ok" } }),
      args(0, '{"a":1}'),
    ),
    sees: { calls: [look] },
  },
  {
    quirk: "a name that comes behind the id",
    providers: "gateways that split entries",
    wire: stream(
      piece({ index: 0, id: "call_1", type: "function" }),
      piece({ index: 0, function: { name: "look", arguments: "" } }),
      args(0, '{"a":1}'),
    ),
    sees: { calls: [look] },
  },
  {
    quirk: "a type that is missing",
    providers: "Mistral",
    wire: stream(
      piece({ index: 0, id: "call_1", function: { name: "look", arguments: '{"a":1}' } }),
    ),
    sees: { calls: [look] },
  },
  {
    quirk: "calls that end with `stop`",
    providers: "Gemini's compatible endpoint, Ollama",
    wire: { stream: [role, head(0, "call_1", "look", '{"a":1}'), stop, DONE] },
    sees: { calls: [look] },
  },
  {
    quirk: "calls that end with a finish reason of another API",
    providers: "Anthropic's compatible endpoint, Bedrock gateways",
    wire: { stream: [role, head(0, "call_1", "look", '{"a":1}'), delta({}, "tool_use"), DONE] },
    sees: { calls: [look] },
  },
  {
    quirk: "a call in the field of the old API",
    providers: "OpenAI's first function calling, LocalAI",
    wire: {
      stream: [
        delta({ role: "assistant", content: null, function_call: { name: "look", arguments: "" } }),
        delta({ function_call: { arguments: '{"a":1}' } }),
        delta({}, "function_call"),
        DONE,
      ],
    },
    sees: { calls: [made] },
  },
  {
    quirk: "in a whole answer: no id, no type, arguments as an object",
    providers: "Ollama",
    wire: body({ function: { name: "look", arguments: { a: 1 } } }),
    sees: { calls: [made] },
  },
  {
    quirk: "in a whole answer: ids that are empty",
    providers: "local servers",
    wire: body(entry("", "look", '{"a":1}'), entry("", "look", '{"a":1}')),
    sees: { calls: [made, made] },
  },
  {
    quirk: "in a whole answer: content that is empty and not null",
    providers: "Alibaba, DeepSeek, xAI",
    wire: {
      body: {
        ...chunk([]),
        object: "chat.completion",
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "", tool_calls: [whole, wholeFind] },
            finish_reason: "tool_calls",
          },
        ],
      },
    },
    sees: { calls: [look, find] },
  },
] as const satisfies readonly Quirk[];
