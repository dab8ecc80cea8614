import { chunk, counted, delta, role, stop, text, usage } from "../support/chat-frames.ts";
import type { Body } from "../support/fake-upstream.ts";
import { DONE, type Quirk, type Sent } from "./quirk.ts";

const stream = (...frames: readonly Sent[]): Quirk["wire"] => ({
  stream: [role, ...frames, stop, DONE],
});
const body = (message: Body, more: Body = {}): Quirk["wire"] => ({
  body: {
    ...chunk([]),
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }],
    ...more,
  },
});
const thought = { reasoning: "Hm.", text: "Hello" };
const safe = { hate: { filtered: false, severity: "safe" } };
const citation = {
  type: "url_citation",
  url_citation: { url: "https://a.example", title: "A", start_index: 0, end_index: 5 },
};

/** How chat servers say text and reasoning, and what they say beside it. */
export const chatText = [
  {
    quirk: "a role that is never sent",
    providers: "gateways, TGI",
    wire: { stream: [text("Hel"), text("lo"), stop, DONE] },
    sees: { text: "Hello" },
  },
  {
    quirk: "a role in every chunk",
    providers: "Perplexity, Ollama, Alibaba",
    wire: stream(...["Hel", "lo"].map((content) => delta({ role: "assistant", content }))),
    sees: { text: "Hello" },
  },
  {
    quirk: "a role that is null, among other fields that are",
    providers: "DeepSeek on Azure",
    wire: stream(
      delta({ role: null, content: "Hello", reasoning_content: null, tool_calls: null }),
    ),
    sees: { text: "Hello" },
  },
  {
    quirk: "no finish_reason field until the end",
    providers: "xAI",
    wire: stream(chunk([{ index: 0, delta: { content: "Hello" } }])),
    sees: { text: "Hello" },
  },
  {
    quirk: "content as a list of parts",
    providers: "Mistral",
    wire: stream(
      delta({ content: [{ type: "text", text: "Hel" }] }),
      delta({ content: [{ type: "text", text: "lo" }] }),
    ),
    sees: { text: "Hello" },
  },
  {
    quirk: "reasoning in `reasoning_content`",
    providers: "DeepSeek, Alibaba, xAI, Moonshot",
    wire: stream(
      delta({ reasoning_content: "Hm", content: null }),
      delta({ reasoning_content: "." }),
      text("Hello"),
    ),
    sees: thought,
  },
  {
    quirk: "reasoning in `reasoning`",
    providers: "Groq, OpenRouter, vLLM",
    wire: stream(delta({ reasoning: "Hm" }), delta({ reasoning: "." }), text("Hello")),
    sees: thought,
  },
  {
    quirk: "reasoning in `reasoning_details` beside `reasoning`",
    providers: "OpenRouter",
    wire: stream(
      delta({
        content: "",
        reasoning: "Hm.",
        reasoning_details: [{ type: "reasoning.text", text: "Hm.", index: 0, format: null }],
      }),
      text("Hello"),
    ),
    sees: thought,
  },
  {
    quirk: "the same reasoning in two fields",
    providers: "gateways that serve old and new clients",
    wire: stream(delta({ reasoning: "Hm.", reasoning_content: "Hm." }), text("Hello")),
    sees: thought,
  },
  {
    quirk: "reasoning as thinking parts of the content",
    providers: "Mistral",
    wire: stream(
      delta({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] }),
      delta({ content: [{ type: "text", text: "Hello" }] }),
    ),
    sees: thought,
  },
  {
    quirk: "in a whole answer: reasoning in `reasoning_content`",
    providers: "DeepSeek, Alibaba, xAI, Moonshot",
    wire: body({ content: "Hello", reasoning_content: "Hm." }),
    sees: thought,
  },
  {
    quirk: "in a whole answer: reasoning in `reasoning`",
    providers: "Groq, OpenRouter",
    wire: body({ content: "Hello", reasoning: "Hm." }),
    sees: thought,
  },
  {
    quirk: "in a whole answer: thinking parts",
    providers: "Mistral",
    wire: body({
      content: [
        { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
        { type: "text", text: "Hello" },
      ],
    }),
    sees: thought,
  },
  {
    quirk: "a refusal",
    providers: "OpenAI",
    wire: stream(delta({ refusal: "I can" }), delta({ refusal: "not." })),
    sees: { refusal: "I cannot." },
  },
  {
    quirk: "citations beside every chunk, and an object of its own at the end",
    providers: "Perplexity",
    wire: {
      stream: [
        { ...text("Hello"), citations: ["https://a.example"] },
        {
          ...delta({ role: "assistant", content: "" }, "stop"),
          object: "chat.completion.done",
          citations: ["https://a.example"],
          usage,
        },
        DONE,
      ],
    },
    sees: { text: "Hello", usage: counted },
  },
  {
    quirk: "citations as annotations of the message",
    providers: "OpenAI search models, OpenRouter",
    wire: stream(text("Hello"), delta({ annotations: [citation] })),
    sees: { text: "Hello" },
  },
  {
    quirk: "a first chunk without choices, id and model that brings the verdict of a filter",
    providers: "Azure",
    wire: {
      stream: [
        {
          choices: [],
          created: 0,
          id: "",
          model: "",
          object: "",
          prompt_filter_results: [{ prompt_index: 0, content_filter_results: safe }],
        },
        role,
        chunk([
          {
            index: 0,
            delta: { content: "Hello" },
            content_filter_results: safe,
            finish_reason: null,
          },
        ]),
        stop,
        DONE,
      ],
    },
    sees: { text: "Hello" },
  },
  {
    quirk: "an answer cut off by a filter",
    providers: "Azure",
    wire: { stream: [role, text("Hel"), delta({}, "content_filter"), DONE] },
    sees: { text: "Hel", stop: "filter" },
  },
  {
    quirk: "one choice that is numbered 1",
    providers: "gateways that keep a number",
    wire: {
      stream: [
        chunk([{ index: 1, delta: { role: "assistant", content: "Hello" }, finish_reason: null }]),
        chunk([{ index: 1, delta: {}, finish_reason: "stop" }]),
        DONE,
      ],
    },
    sees: { text: "Hello" },
  },
  {
    quirk: "an answer id that changes with every chunk",
    providers: "gateways that make ids up",
    wire: {
      stream: [
        role,
        { ...text("Hel"), id: "b" },
        { ...text("lo"), id: "c" },
        { ...stop, id: "d" },
        DONE,
      ],
    },
    sees: { text: "Hello" },
  },
  {
    quirk: "messages that grow in place of deltas",
    providers: "DashScope, older local servers",
    wire: {
      stream: [
        chunk([{ index: 0, message: { role: "assistant", content: "Hel" }, finish_reason: null }]),
        chunk([
          { index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: null },
        ]),
        stop,
        DONE,
      ],
    },
    sees: { text: "Hello" },
  },
] as const satisfies readonly Quirk[];
