import * as fc from "fast-check";
import { expect, it } from "vitest";
import { foldGemini, readGeminiStream } from "../../../test/support/gemini-reader.ts";
import {
  called,
  choice,
  end,
  lawful,
  partsOf,
  seal,
  signed,
  start,
  thought,
  turnOf,
  whole,
  written,
  type Event,
} from "../../../test/support/gemini-writing.ts";
import { cutUp } from "../../../test/support/random-answers.ts";
import { broken } from "../../../test/support/stream-grammar.ts";
import type { StopReason } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";

const words = fc.string({
  unit: fc.constantFrom("a", " ", "é", "👋🏽", "\n", '"', "\\", "\r", "\u2028", "\u0085", "]"),
  minLength: 1,
  maxLength: 9,
});
const anyInput = fc.oneof(
  fc
    .dictionary(fc.constantFrom("x", "é"), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 })
    .map((value) => JSON.stringify(value, null, 1)),
  fc.constantFrom("", "[1]", '{"a":"', "7", "null", '{"a":1}}', '{"\u2028":"\u0085"}'),
);
const seals = fc.option(
  fc.record({
    encrypted: fc.constantFrom(seal("a/m"), seal("b/m"), "cmF3"),
    on: fc.constantFrom(undefined, "text", "empty", "thought"),
  }),
  { nil: undefined },
);
const blocks = fc.array(
  fc.oneof(
    fc.record({
      type: fc.constant("text" as const),
      words: fc.array(words, { minLength: 1, maxLength: 3 }),
      hasLogprobs: fc.boolean(),
      note: fc.option(fc.record({ start: fc.nat(9), end: fc.nat(12) }), { nil: undefined }),
    }),
    fc.record({ type: fc.constant("refusal" as const), words }),
    fc.record({ type: fc.constant("thought" as const), words: fc.option(words), seals }),
    fc.record({
      type: fc.constant("call" as const),
      input: anyInput,
      size: fc.integer({ min: 1, max: 9 }),
    }),
    fc.record({
      type: fc.constant("item" as const),
      dialect: fc.constantFrom("gemini", "responses"),
    }),
  ),
  { maxLength: 6 },
);
type Block = typeof blocks extends fc.Arbitrary<readonly (infer One)[]> ? One : never;
type Made<Type extends Block["type"]> = Extract<Block, { readonly type: Type }>;

function eventsOf(block: Block, at: number): Event[] {
  if (block.type === "text") return textEvents(block, at);
  if (block.type === "refusal") return [{ type: "refusal-delta", choice, text: block.words }];
  if (block.type === "thought") return thoughtEvents(block);
  if (block.type === "call") return callEvents(block, at);
  const code = { executableCode: { language: "PYTHON", code: "\u2028" } };
  const raw = block.dialect === "gemini" ? code : { type: "search" };
  return [{ type: "item-end", choice, item: at, dialect: block.dialect, raw }];
}

function textEvents({ words: pieces, hasLogprobs, note }: Made<"text">, at: number): Event[] {
  const said = pieces.map((piece): Event => {
    const logprobs = [{ token: piece, logprob: -1, top_logprobs: [] }];
    return { type: "text-delta", choice, text: piece, ...(hasLogprobs && { logprobs }) };
  });
  const url = { type: "url_citation", url: `http://${at}` };
  const annotation = { ...url, start_index: note?.start, end_index: note?.end };
  const notes: Event[] = note === undefined ? [] : [{ type: "text-note", choice, annotation }];
  return [{ type: "text-start", choice }, ...said, ...notes, { type: "text-end", choice }];
}

function thoughtEvents({ words: said, seals: sealed }: Made<"thought">): Event[] {
  return [
    { type: "reasoning-start", choice },
    ...(said === null ? [] : [thought(said)]),
    sealed === undefined ? { type: "reasoning-end", choice } : signed(sealed.encrypted, sealed.on),
  ];
}

function callEvents({ input, size }: Made<"call">, at: number): Event[] {
  const [begin, , close] = called(at, "") as [Event, Event, Event];
  const pieces = cutUp(input, size);
  return [
    begin,
    ...pieces.map((piece): Event => ({ type: "call-delta", choice, call: at, text: piece })),
    close,
  ];
}

const counts = fc.record({ input: fc.nat(99), output: fc.nat(99), total: fc.nat(99) });
const answers = fc.record({
  blocks,
  stop: fc.constantFrom<StopReason>("end", "calls", "length", "filter", "pause"),
  fails: fc.boolean(),
  usage: fc.option(counts, { nil: undefined }),
  showsThoughts: fc.boolean(),
});
type RandomTurn = typeof answers extends fc.Arbitrary<infer One> ? One : never;

function eventsIn({ blocks: all, stop, usage }: RandomTurn): Event[] {
  const counted: Event[] = usage === undefined ? [] : [{ type: "usage", usage }];
  return lawful([start, ...all.flatMap(eventsOf), ...counted, end(stop)]);
}

it("writes a stream that the strictest reader takes, in both forms, and whole the fold of it", () => {
  fc.assert(
    fc.property(answers, (answer) => {
      const events = eventsIn(answer);
      expect(broken(events)).toEqual([]);
      const turn = turnOf("sse", answer.showsThoughts);
      const stream = written(events, turn);
      const { chunks } = readGeminiStream(stream.text);
      const list = written(events, turnOf("array", answer.showsThoughts));
      expect(readGeminiStream(list.text, "array")).toEqual({ chunks, error: undefined });
      expect(list.decisions).toEqual(stream.decisions);
      const body = whole(events, turn);
      expect(foldGemini(chunks)).toEqual(body);
    }),
    { numRuns: 2_000 },
  );
});

it("gives calls only if the answer is whole and the arguments of all its calls are objects", () => {
  fc.assert(
    fc.property(answers, fc.nat(), (answer, at) => {
      const { fails, stop } = answer;
      const all = eventsIn(answer);
      const cut = all.slice(0, 1 + (at % all.length)).filter(({ type }) => type !== "turn-end");
      const fault = new Fault("upstream.cut", "cut");
      const { text } = written(fails ? [...cut, { type: "turn-fail", fault }] : all);
      const { chunks, error } = readGeminiStream(text);
      const given = chunks.flatMap(partsOf).filter((part) => part["functionCall"] !== undefined);
      const inputs = answer.blocks.flatMap((block) => (block.type === "call" ? block.input : []));
      const isGood = !fails && (stop === "end" || stop === "calls") && inputs.every(isObject);
      expect(given).toHaveLength(isGood ? inputs.length : 0);
      expect(error !== undefined).toBe(fails);
    }),
    { numRuns: 1_000 },
  );
});

function isObject(input: string): boolean {
  if (input.trim() === "") return true;
  try {
    const value = JSON.parse(input) as unknown;
    return typeof value === "object" && !Array.isArray(value);
  } catch {
    return false; // It is not JSON.
  }
}
