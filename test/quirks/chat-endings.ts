import {
  args,
  calls,
  chunk,
  counted,
  delta,
  head,
  role,
  stop,
  text,
  usage,
} from "../support/chat-frames.ts";
import { DONE, type Quirk } from "./quirk.ts";

const look = { name: "look", input: '{"a":1}', id: "call_1" };
const hello = [role, text("Hello")] as const;
const counts = chunk([], { usage });

/** How chat servers end an answer, count it, or fail to. */
export const chatEndings = [
  {
    quirk: "two ends of one choice",
    providers: "gateways that add their own",
    wire: { stream: [...hello, stop, stop, DONE] },
    sees: { text: "Hello" },
  },
  {
    quirk: "an end that never comes before [DONE]",
    providers: "TGI, older vLLM",
    wire: { stream: [...hello, DONE] },
    sees: { text: "Hello" },
  },
  {
    quirk: "[DONE] that never comes",
    providers: "Moonshot behind gateways, LM Studio",
    wire: { stream: [...hello, stop] },
    sees: { text: "Hello" },
  },
  {
    quirk: "the end on the chunk that brings the last text",
    providers: "Moonshot",
    wire: { stream: [role, text("Hel"), delta({ content: "lo" }, "stop"), DONE] },
    sees: { text: "Hello" },
  },
  {
    quirk: "text behind the end",
    providers: "gateways that reorder chunks",
    wire: { stream: [...hello, stop, text("!"), DONE] },
    sees: { text: "Hello!" },
  },
  {
    quirk: "chunks without choices that say nothing",
    providers: "Azure, gateways that keep a line open",
    wire: { stream: [chunk([]), ...hello, chunk([]), {}, { choices: null }, stop, DONE] },
    sees: { text: "Hello" },
  },
  {
    quirk: "usage in a chunk of its own at the end",
    providers: "OpenAI, Alibaba, xAI",
    wire: { stream: [...hello, stop, counts, DONE] },
    sees: { text: "Hello", usage: counted },
  },
  {
    quirk: "usage on the chunk that ends the choice",
    providers: "DeepSeek, Groq, Mistral, Moonshot",
    wire: { stream: [...hello, { ...stop, usage }, DONE] },
    sees: { text: "Hello", usage: counted },
  },
  {
    quirk: "usage on every chunk, growing",
    providers: "Perplexity, vLLM with continuous usage",
    wire: {
      stream: [
        role,
        { ...text("Hel"), usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } },
        { ...text("lo"), usage },
        { ...stop, usage },
        DONE,
      ],
    },
    sees: { text: "Hello", usage: counted },
  },
  {
    quirk: "usage before the end of the choice",
    providers: "gateways that reorder chunks",
    wire: { stream: [...hello, counts, stop, DONE] },
    sees: { text: "Hello", usage: counted },
  },
  {
    quirk: "usage that is null until it is known",
    providers: "DeepSeek, Azure",
    wire: {
      stream: [
        { ...role, usage: null },
        { ...text("Hello"), usage: null },
        { ...stop, usage },
        DONE,
      ],
    },
    sees: { text: "Hello", usage: counted },
  },
  {
    quirk: "counts written as texts",
    providers: "gateways in scripting languages",
    wire: {
      stream: [
        ...hello,
        stop,
        chunk([], { usage: { prompt_tokens: "3", completion_tokens: "2", total_tokens: "5" } }),
        DONE,
      ],
    },
    sees: { text: "Hello", usage: counted },
  },
  {
    quirk: "usage in a field of its own beside the usual one",
    providers: "Groq",
    wire: { stream: [...hello, { ...stop, usage, x_groq: { id: "req_1", usage } }, DONE] },
    sees: { text: "Hello", usage: counted },
  },
  {
    quirk: "an end by length in mid-text",
    providers: "all",
    wire: { stream: [role, text("Hel"), delta({}, "length"), DONE] },
    sees: { text: "Hel", stop: "length" },
  },
  {
    quirk: "an end that is no reason of the API",
    providers: "Anthropic's and Gemini's compatible endpoints",
    wire: { stream: [...hello, delta({}, "end_turn"), DONE] },
    sees: { text: "Hello" },
  },
  {
    quirk: "a whole JSON body where a stream was asked for",
    providers: "gateways that do not stream",
    wire: {
      body: {
        ...chunk([]),
        object: "chat.completion",
        choices: [
          { index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" },
        ],
        usage,
      },
    },
    sees: { text: "Hello", usage: counted },
  },
  {
    quirk: "the stream closes in the middle of arguments",
    providers: "any, when a worker dies",
    wire: { stream: [role, head(0, "call_1", "look"), args(0, '{"a"')] },
    sees: { fails: /upstream/ },
  },
  {
    quirk: "the connection breaks in the middle of a text",
    providers: "any",
    wire: { severed: [role, text("Hel")] },
    sees: { fails: /upstream/, text: "Hel" },
  },
  {
    quirk: "the stream closes behind a text, without an end",
    providers: "any, when a proxy times out",
    wire: { stream: [role, text("Hel")] },
    sees: { fails: /upstream/, text: "Hel" },
  },
  {
    quirk: "a stream with nothing in it",
    providers: "overloaded servers",
    wire: { stream: [DONE] },
    sees: { fails: /upstream/ },
  },
  {
    quirk: "whole arguments, then an end without a reason",
    providers: "older vLLM",
    wire: { stream: [role, head(0, "call_1", "look", '{"a":1}'), DONE] },
    sees: { calls: [look] },
  },
  {
    quirk: "an end that comes before the last arguments",
    providers: "gateways that reorder chunks",
    wire: { stream: [role, head(0, "call_1", "look", '{"a"'), calls, args(0, ":1}"), DONE] },
    sees: { calls: [look] },
  },
] as const satisfies readonly Quirk[];
