import type { Body } from "../support/fake-upstream.ts";
import type { Quirk, Sent } from "./quirk.ts";

const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 };
const words = (text: string): Body => ({ text });
const thought = (text: string): Body => ({ text, thought: true });
const call = (name: string, args?: unknown, id?: string): Body => ({
  functionCall: { name, ...(id !== undefined && { id }), ...(args !== undefined && { args }) },
});

/** A chunk with these parts, and more fields of its candidate. */
const chunk = (parts: readonly Body[], candidate: Body = {}, more: Body = {}): Body => ({
  candidates: [{ content: { parts, role: "model" }, index: 0, ...candidate }],
  usageMetadata,
  modelVersion: "m",
  responseId: "r",
  ...more,
});
const end = (finishReason = "STOP", more: Body = {}): Body =>
  chunk([words("")], { finishReason, ...more });
const stream = (...sent: readonly Sent[]): Quirk["wire"] => ({ stream: sent });

const late = { name: "look", input: '{"at":"x"}' };
const looked = call("look", { at: "x" });
const error = { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" };

const endings: readonly Quirk[] = [
  {
    quirk: "a reason on every chunk",
    providers: "older servers, CLIProxyAPI#5651",
    wire: stream(
      chunk([words("Hel")], { finishReason: "STOP" }),
      chunk([words("lo")], { finishReason: "STOP" }),
    ),
    sees: { text: "Hello" },
  },
  {
    quirk: "a reason that is null until the end",
    providers: "one-api#1477",
    wire: stream(chunk([words("Hello")], { finishReason: null }), end()),
    sees: { text: "Hello" },
  },
  {
    quirk: "a text behind the end",
    providers: "kelivo#1003",
    wire: stream(end(), chunk([words("Hello")])),
    sees: { text: "Hello" },
  },
  {
    quirk: "an end without content",
    providers: "req_llm#638",
    wire: stream(chunk([words("Hello")]), { candidates: [{ finishReason: "STOP", index: 0 }] }),
    sees: { text: "Hello" },
  },
  {
    quirk: "a content without parts at the limit",
    providers: "litellm#24442",
    wire: stream(chunk([words("Hel")]), {
      candidates: [{ content: { role: "model" }, finishReason: "MAX_TOKENS", index: 0 }],
    }),
    sees: { text: "Hel", stop: "length" },
  },
  {
    quirk: "parts that are null",
    providers: "litellm#40477",
    wire: {
      body: {
        candidates: [{ content: { parts: null }, finishReason: "MAX_TOKENS", index: 0 }],
        usageMetadata,
      },
    },
    sees: { stop: "length", usage: { input: 5, output: 2 } },
  },
  {
    quirk: "nothing but an end",
    providers: "litellm#34603",
    wire: stream(end()),
    sees: {},
  },
  {
    quirk: "thoughts and no end, and counts that add up",
    providers: "CLIProxyAPI#5226",
    wire: stream(
      chunk(
        [thought("Hm.")],
        {},
        { usageMetadata: { promptTokenCount: 5, thoughtsTokenCount: 4, totalTokenCount: 9 } },
      ),
    ),
    sees: { reasoning: "Hm.", usage: { output: 4, reasoning: 4 } },
  },
  {
    quirk: "no end",
    providers: "vercel/ai#5217",
    wire: stream(chunk([words("Hel")])),
    sees: { fails: /before the (?:answer|end)|complete|ended/, text: "Hel" },
  },
  {
    quirk: "a call and no end",
    providers: "proxies",
    wire: stream(chunk([looked])),
    sees: { fails: /complete|ended/ },
  },
  {
    quirk: "a call beside the length limit",
    providers: "litellm#10768, hermes-agent#43478",
    wire: stream(chunk([words("Hm. "), looked], { finishReason: "MAX_TOKENS" })),
    sees: { text: "Hm. ", stop: "length" },
  },
  {
    quirk: "a call beside a filter",
    providers: "Google",
    wire: stream(chunk([words("Hm. ")]), chunk([looked]), end("SAFETY")),
    sees: { text: "Hm. ", stop: "filter" },
  },
  ...["SAFETY", "RECITATION", "BLOCKLIST", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR"].map(
    (reason): Quirk => ({
      quirk: `an answer that ${reason} stopped`,
      providers: "Google",
      wire: stream(chunk([words("Hel")]), end(reason, { finishMessage: "Blocked." })),
      sees: { text: "Hel", stop: "filter" },
    }),
  ),
  {
    quirk: "a blocked prompt",
    providers: "Google",
    wire: stream({
      promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
      usageMetadata: { promptTokenCount: 5, totalTokenCount: 5 },
    }),
    sees: { stop: "filter", usage: { input: 5, output: 0 } },
  },
  {
    quirk: "another reason behind text",
    providers: "Google",
    wire: stream(chunk([words("Hello")]), end("OTHER")),
    sees: { text: "Hello" },
  },
  {
    quirk: "a reason from the future behind text",
    providers: "Google",
    wire: stream(chunk([words("Hello")]), end("ESCALATION")),
    sees: { text: "Hello" },
  },
  {
    quirk: "a pause without a token",
    providers: "Google",
    wire: stream(chunk([words("Hel")]), end("CONTINUATION")),
    sees: { text: "Hel", stop: "length" },
  },
];

const calls: readonly Quirk[] = [
  {
    quirk: "a call and a message about it",
    providers: "Google",
    wire: stream(
      chunk([looked], { finishReason: "STOP", finishMessage: "Model generated function call(s)." }),
    ),
    sees: { calls: [late] },
  },
  {
    quirk: "two calls of one tool without ids",
    providers: "Google AI Studio, litellm#37849",
    wire: stream(chunk([looked, call("look", { at: "y" })]), end()),
    sees: { calls: [late, { name: "look", input: '{"at":"y"}' }] },
  },
  {
    quirk: "two calls with one id",
    providers: "cherry-studio#16921",
    wire: stream(chunk([call("look", { at: "x" }, "a"), call("find", { at: "y" }, "a")]), end()),
    sees: { calls: [late, { name: "find", input: '{"at":"y"}' }] },
  },
  {
    quirk: "one call a chunk, with text between",
    providers: "langchain#40392",
    wire: stream(chunk([looked]), chunk([words("And ")]), chunk([call("find", {})]), end()),
    sees: { text: "And ", calls: [late, { name: "find", input: "{}" }] },
  },
  {
    quirk: "a call without arguments",
    providers: "Google",
    wire: stream(chunk([call("look"), call("find", null)]), end()),
    sees: {
      calls: [
        { name: "look", input: "{}" },
        { name: "find", input: "{}" },
      ],
    },
  },
  {
    quirk: "arguments as text",
    providers: "relays",
    wire: stream(chunk([call("look", '{"at":"x"}')]), end()),
    sees: { calls: [late] },
  },
  {
    quirk: "arguments that are no object",
    providers: "relays",
    wire: stream(chunk([call("look", "{broken")]), end()),
    sees: { fails: /arguments/ },
  },
  {
    quirk: "a number with more digits than a double has",
    providers: "Google",
    wire: stream(
      `data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":{"at":12345678901234567890}}}]},"finishReason":"STOP"}]}\n\n`,
    ),
    sees: { calls: [{ name: "look", input: '{"at":12345678901234567890}' }] },
  },
  {
    quirk: "arguments in pieces",
    providers: "Vertex AI",
    wire: stream(
      chunk([{ functionCall: { name: "look", willContinue: true } }]),
      chunk([
        {
          functionCall: {
            partialArgs: [{ jsonPath: "$.at", stringValue: 'a "', willContinue: true }],
            willContinue: true,
          },
        },
      ]),
      chunk([
        {
          functionCall: {
            partialArgs: [
              { jsonPath: "$.at", stringValue: 'b"' },
              { jsonPath: "$.list[0].n", numberValue: 1.5 },
              { jsonPath: "$.list[1].b", boolValue: true },
              { jsonPath: "$.list[]" },
              { jsonPath: "$['odd key']", nullValue: "NULL_VALUE" },
            ],
            willContinue: true,
          },
        },
      ]),
      chunk([{ functionCall: {} }]),
      end(),
    ),
    sees: {
      calls: [
        {
          name: "look",
          input: '{"at":"a \\"b\\"","list":[{"n":1.5},{"b":true}],"odd key":null}',
        },
      ],
    },
  },
  {
    quirk: "pieces of arguments that end with the answer",
    providers: "Vertex AI",
    wire: stream(
      chunk([
        {
          functionCall: {
            name: "look",
            partialArgs: [{ jsonPath: "$.at", stringValue: "x", willContinue: true }],
            willContinue: true,
          },
        },
      ]),
      end(),
    ),
    sees: { calls: [late] },
  },
  {
    quirk: "pieces of arguments that skip an index",
    providers: "nobody yet",
    wire: stream(
      chunk([
        {
          functionCall: {
            name: "look",
            partialArgs: [{ jsonPath: "$.list[1000000]", numberValue: 1 }],
          },
        },
      ]),
      end(),
    ),
    sees: { fails: /fit together/ },
  },
];

const texts: readonly Quirk[] = [
  {
    quirk: "thoughts, marked in words",
    providers: "relays",
    wire: stream(chunk([{ text: "Hm.", thought: "true" }, words("Yes.")]), end()),
    sees: { text: "Yes.", reasoning: "Hm." },
  },
  {
    quirk: "counts that fall and lack fields on the way",
    providers: "Google",
    wire: stream(
      chunk([words("Hel")], {}, { usageMetadata: { promptTokenCount: 900, totalTokenCount: 901 } }),
      chunk([words("lo")], {}, { usageMetadata: { trafficType: "ON_DEMAND" } }),
      chunk(
        [words("")],
        { finishReason: "STOP" },
        {
          usageMetadata: {
            promptTokenCount: 10,
            cachedContentTokenCount: 4,
            toolUsePromptTokenCount: 3,
            candidatesTokenCount: 2,
            thoughtsTokenCount: 5,
            totalTokenCount: 20,
          },
        },
      ),
    ),
    sees: { text: "Hello", usage: { input: 13, output: 7, total: 20, cached: 4, reasoning: 5 } },
  },
  {
    quirk: "no role, no index and empty parts",
    providers: "relays, new-api#58",
    wire: stream({ candidates: [{ content: { parts: [{}, words("Hello"), {}] } }] }, end()),
    sees: { text: "Hello" },
  },
  {
    quirk: "an answer as a list of chunks",
    providers: "gemini-rust#29",
    wire: stream(JSON.stringify([chunk([words("Hel")]), chunk([words("lo")]), end()])),
    sees: { text: "Hello" },
  },
  {
    quirk: "a whole answer in place of a stream",
    providers: "relays",
    wire: { body: chunk([thought("Hm."), words("Hello")], { finishReason: "STOP" }) },
    sees: { text: "Hello", reasoning: "Hm." },
  },
  {
    quirk: "frames with a comment, with other values and with the end of another API",
    providers: "opencode#50871, bifrost#5188",
    wire: stream(
      chunk([words("Hel")]),
      "data: : keepalive\n\n",
      'data: "ping"\n\n',
      "data: 7\n\n",
      "data: null\n\n",
      chunk([words("lo")]),
      end(),
      "data: [DONE]\n\n",
    ),
    sees: { text: "Hello" },
  },
];

const failures: readonly Quirk[] = [
  {
    quirk: "an error as bare JSON behind good chunks",
    providers: "Google, vercel/ai#5217",
    wire: stream(chunk([words("Hel")]), `${JSON.stringify({ error }, undefined, 2)}\n`),
    sees: { fails: /overloaded/, text: "Hel" },
  },
  {
    quirk: "an error in a frame",
    providers: "Google",
    wire: stream(chunk([words("Hel")]), { error }),
    sees: { fails: /overloaded/, text: "Hel" },
  },
  {
    quirk: "an error in a list",
    providers: "Google",
    wire: stream(JSON.stringify([{ error }])),
    sees: { fails: /overloaded/ },
  },
  {
    quirk: "an error in place of an answer",
    providers: "Google",
    wire: { body: { error } },
    sees: { fails: /overloaded/ },
  },
];

/** What Google sends, and what calls itself Gemini. */
export const geminiQuirks: readonly Quirk[] = [...endings, ...calls, ...texts, ...failures];

/** Ends of worthless answers, which are asked for again as long as nothing was sent. */
export const worthless: readonly Quirk[] = [
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
].map((reason) => ({
  quirk: `an answer with a call that ends with ${reason}`,
  providers: "Google, litellm#41534",
  wire: stream(chunk([words("Hm. ")]), chunk([looked], { finishReason: reason })),
  sees: { fails: new RegExp(reason), text: "Hm. " },
}));
