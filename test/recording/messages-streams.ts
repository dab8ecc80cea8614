/** Streams of the Messages API, of any content and with any end. */

import * as fc from "fast-check";
import { cutUp, type Named } from "../support/random-answers.ts";

type Frame = Readonly<Record<string, unknown>> & { readonly type: string };
type Delta = Readonly<Record<string, unknown>> & { readonly type: string };

/** A content block: how it begins, and what it is told in. */
type Block = { readonly start: Delta; readonly deltas: readonly Delta[] };

export type MessagesStream = {
  readonly frames: readonly Frame[];
  /** The connection closes where the frames end, without the end of the HTTP answer. */
  readonly severed: boolean;
};

const letters = fc.constantFrom(
  ...Array.from('abcXYZ019 .,-{}[]:"\\/<>\n\t'),
  "é",
  "ß",
  "東",
  "京",
  "🙂",
  "👋🏽",
  "\u{20bb7}",
  "e\u0301",
  "\u2028",
  "\u0000",
);
const words = fc.string({ unit: letters, maxLength: 40 });
const values = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    words,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, 0, -17, 1e300),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("city", "é", "a b", "x", "0"), tie("any"), { maxKeys: 3 }),
  ),
})).any;
const inputs = fc
  .dictionary(fc.constantFrom("city", "path", "größe", "n"), values, { maxKeys: 3 })
  .map((value) => JSON.stringify(value));
const sizes = fc.integer({ min: 1, max: 12 });
const names = fc.constantFrom("look", "find", "read_file");

/** Pieces of so many units of UTF-16, as some providers cut: through a pair too. */
const cutUnits = (text: string, size: number): string[] =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  );
const pieces = fc.tuple(sizes, fc.boolean()).map(
  ([size, byUnits]) =>
    (text: string) =>
      (byUnits ? cutUnits : cutUp)(text, size),
);

const textBlock = fc.tuple(words, pieces).map(([text, cut]): Block => ({
  start: { type: "text", text: "" },
  deltas: cut(text).map((piece) => ({ type: "text_delta", text: piece })),
}));
const citedBlock = fc.tuple(words, words, pieces).map(([text, cited, cut]): Block => ({
  start: { type: "text", text: "", citations: [] },
  deltas: [
    ...cut(text).map((piece) => ({ type: "text_delta", text: piece })),
    {
      type: "citations_delta",
      citation: {
        type: "char_location",
        cited_text: cited,
        document_index: 0,
        document_title: null,
        start_char_index: 3,
        end_char_index: 9,
      },
    },
  ],
}));
const thinkingBlock = fc.tuple(words, words, pieces).map(([text, signature, cut]): Block => ({
  start: { type: "thinking", thinking: "", signature: "" },
  deltas: [
    ...cut(text).map((piece) => ({ type: "thinking_delta", thinking: piece })),
    { type: "signature_delta", signature: `${Buffer.from(signature).toString("base64")}==` },
  ],
}));
const redactedBlock = words.map((data): Block => ({
  start: { type: "redacted_thinking", data: `${Buffer.from(data).toString("base64")}AA` },
  deltas: [],
}));
const callBlock = fc
  .tuple(names, inputs, pieces, fc.nat(999), fc.constantFrom("tool_use", "server_tool_use"))
  .map(([name, input, cut, id, type]): Block => ({
    start: { type, id: `toolu_${id}`, name, input: {} },
    deltas: ["", ...cut(input)].map((partial_json) => ({ type: "input_json_delta", partial_json })),
  }));
const resultBlock = fc.tuple(words, words).map(([title, url]): Block => ({
  start: {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: [{ type: "web_search_result", title, url: `https://example.com/${url}` }],
  },
  deltas: [],
}));
const blocks = fc.oneof(
  textBlock,
  citedBlock,
  thinkingBlock,
  redactedBlock,
  { weight: 3, arbitrary: callBlock },
  resultBlock,
);

const framesOf = (list: readonly Block[]): Frame[] =>
  list.flatMap(({ start, deltas }, index): Frame[] => [
    { type: "content_block_start", index, content_block: start },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ]);

const stopped = (stop_reason: string): Frame[] => [
  {
    type: "message_delta",
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: 7 },
  },
  { type: "message_stop" },
];
const failed = (message: string): Frame => ({
  type: "error",
  error: { type: "overloaded_error", message },
});

/** How a stream goes on behind a place in it. */
type End = "whole" | "error" | "severed" | "closed";

/** Any lawful stream, and those that fail or are cut off at any frame. */
export const anyMessagesStream: fc.Arbitrary<MessagesStream> = fc
  .record({
    content: fc.array(blocks, { maxLength: 4 }),
    pings: fc.boolean(),
    end: fc.constantFrom<End>("whole", "whole", "error", "severed", "closed"),
    reason: fc.constantFrom("end_turn", "tool_use", "max_tokens", "refusal", "pause_turn"),
    message: words,
    place: fc.nat(30),
  })
  .map(({ content, pings, end, reason, message, place }) => {
    const said: Frame[] = [
      {
        type: "message_start",
        message: {
          id: "msg_1",
          type: "message",
          role: "assistant",
          model: "claude-x",
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 11, output_tokens: 1 },
        },
      },
      ...(pings ? [{ type: "ping" }] : []),
      ...framesOf(content),
      ...stopped(reason),
    ];
    if (end === "whole") return { frames: said, severed: false };
    const cut = said.slice(0, 1 + (place % said.length));
    return {
      frames: end === "error" ? [...cut, failed(message)] : cut,
      severed: end === "severed",
    };
  });

/** Frames with the names of their events, as the API sends them. */
export const namedFrames = ({ frames }: MessagesStream): Named[] =>
  frames.map((value) => ({ name: value.type, value }));
