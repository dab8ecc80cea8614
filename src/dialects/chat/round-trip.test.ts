import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StreamNormalizer } from "../../stream/normalize.ts";
import { fold, type Answer } from "../../stream/fold.ts";
import { SseReader } from "../../stream/sse.ts";
import { runStage } from "../../stream/stage.ts";
import { StraightLane } from "../../stream/straight.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { ClientName, UpstreamName } from "../../turn/names.ts";
import { clientName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { readEvents } from "./read-events.ts";
import { readRequest } from "./read-request.ts";
import { writeAnswer, writeEvents } from "./write-events.ts";

type Event = TurnEvent<UpstreamName>;

const context = { id: "chatcmpl-own", created: 5, now: () => 6, newId: (prefix: string) => prefix };
const turn = readRequest({
  model: "asked",
  messages: [{ role: "user", content: "Hi" }],
  stream: true,
  stream_options: { include_usage: true },
});

/** What a reader makes of a stream, cut into slices. */
function read(text: string, frames = false, slice = text.length): Event[] {
  let made = 0;
  const reader = readEvents({ newId: (prefix) => `${prefix}_${made++}`, frames });
  const said: Event[] = [];
  const sse = new SseReader((data, name, partial) =>
    reader.frame(data, name, partial, (event) => void said.push(event)),
  );
  for (let at = 0; at < text.length; at += slice) sse.feed(text.slice(at, at + slice));
  sse.end();
  return said;
}
const answerOf = (events: readonly Event[]): Answer<UpstreamName> =>
  fold(runStage(new StreamNormalizer<UpstreamName>(), events));

/** What a client acts on: chat has one text and one reasoning, whatever came between their parts. */
function sums({
  items,
  stop,
  index,
}: Answer<ClientName | UpstreamName>["choices"][number]): unknown {
  const of = (type: "text" | "refusal"): string =>
    items
      .flatMap((item) => (item.type === "message" ? item.parts : []))
      .map((part) => (part.type === type ? part.text : ""))
      .join("");
  const reasoning = items
    .flatMap((item) => (item.type === "reasoning" ? item.content : []))
    .join("");
  const calls = items.flatMap((item) =>
    item.type === "call" ? [[item.id, item.kind, item.name, item.input]] : [],
  );
  return { index, stop, text: of("text"), refusal: of("refusal"), reasoning, calls };
}

const gist = ({ choices, usage, fault }: Answer<UpstreamName>): unknown =>
  fault === undefined ? { choices: choices.map(sums), usage } : "failed";

const words = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: "binary", minLength: 1 }) },
  fc.constantFrom('"', "\\", "\n\n", "data: [DONE]", "\ud800", "{}"),
);

describe("an answer that is written and read again", () => {
  type Said = TurnEvent<ClientName>;
  const block = (choice: number): fc.Arbitrary<Said> =>
    fc.oneof(
      words.map((text): Said => ({ type: "text-delta", choice, text })),
      words.map((text): Said => ({ type: "refusal-delta", choice, text })),
      words.map((text): Said => ({
        type: "reasoning-delta",
        choice,
        text,
        of: "content",
        part: 0,
      })),
    );
  const call = fc.record({
    kind: fc.constantFrom("function", "custom"),
    name: fc.constantFrom(clientName("f"), clientName("get_weather")),
    pieces: fc.array(words, { minLength: 1, maxLength: 6 }),
  });
  const choiceOf = (choice: number): fc.Arbitrary<Said[]> =>
    fc
      .tuple(fc.array(block(choice), { maxLength: 9 }), fc.array(call, { maxLength: 3 }))
      .map(([blocks, calls]) => {
        const said = blocks.slice();
        for (const [at, { kind, name, pieces }] of calls.entries()) {
          said.push({ type: "call-start", choice, call: at, id: `c${at}`, kind, name });
          for (const text of pieces) said.push({ type: "call-delta", choice, call: at, text });
        }
        said.push({ type: "turn-end", choice, stop: "end" });
        return said;
      });
  const start: Said = { type: "turn-start", dialect: "chat", id: "x", model: "m", created: 7 };
  const usage: Said = {
    type: "usage",
    usage: { input: 1, output: 2, total: 3, cached: 0, reasoning: 1 },
  };
  const answers = fc
    .tuple(choiceOf(0), fc.option(choiceOf(1)))
    .map(([one, two]) =>
      runStage(new StreamNormalizer<ClientName>(), [[start], one, [usage], two ?? []].flat()),
    );

  it("is the same answer, however the stream is cut", () => {
    fc.assert(
      fc.property(answers, fc.integer({ min: 1, max: 50 }), (events, slice) => {
        const text = runStage(writeEvents(turn, context), events).join("");
        expect(answerOf(read(text, false, slice))).toEqual(fold(events));
      }),
    );
  });

  it("is forwarded as it stands", () => {
    fc.assert(
      fc.property(answers, (events) => {
        const text = runStage(writeEvents(turn, context), events).join("");
        const frames = read(text, true).filter((event) => event.type === "frame");
        expect(frames.filter((frame) => !frame.forwardable)).toEqual([]);
        expect(frames.map((frame) => `data: ${frame.data}\n\n`).join("")).toBe(text);
      }),
    );
  });

  it("is the same answer as a whole body", () => {
    fc.assert(
      fc.property(answers, (events) => {
        const answer = fold(events);
        const said: Event[] = [];
        const reader = readEvents({ newId: (prefix) => prefix, frames: false });
        reader.whole(writeAnswer(answer, turn, context), (event) => void said.push(event));
        const again = answerOf(said);
        expect(again.usage).toEqual(answer.usage);
        expect(again.choices.map(sums)).toEqual(answer.choices.map(sums));
      }),
    );
  });
});

describe("the straight lane", () => {
  const chunk = (choice: Fields, more: Fields = {}): Fields => ({
    id: "x",
    object: "chat.completion.chunk",
    created: 7,
    model: "m",
    choices: [{ index: 0, finish_reason: null, ...choice }],
    ...more,
  });
  const delta = (fields: Fields): Fields => chunk({ delta: fields });
  const role = delta({ role: "assistant", content: "" });
  const piece = (call: Fields): Fields => delta({ tool_calls: [call] });
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  const end = (finish_reason: string): Fields => chunk({ delta: {}, finish_reason });
  const head = (index: number, more: Fields = {}): Fields =>
    piece({
      index,
      id: `c${index}`,
      type: "function",
      function: { name: "f", arguments: "" },
      ...more,
    });
  const frame = fc.oneof(
    words.map((content) => delta({ content })),
    words.map((reasoning_content) => delta({ reasoning_content })),
    words.map((refusal) => delta({ refusal })),
    fc.nat(2).map((index) => head(index)),
    fc
      .tuple(fc.nat(2), words)
      .map(([index, more]) => piece({ index, function: { arguments: more } })),
    fc
      .tuple(fc.nat(2), words)
      .map(([index, more]) => head(index, { function: { name: "f", arguments: more } })),
    fc.constantFrom(
      role,
      delta({}),
      delta({ content: null, tool_calls: null }),
      delta({ content: [{ type: "text", text: "part" }] }),
      head(0, { id: "" }),
      head(0, { id: null, type: undefined }),
      head(1, { index: undefined }),
      piece({ index: 0, function: { name: "g" } }),
      { ...delta({ content: "other id" }), id: "y" },
      end("stop"),
      end("tool_calls"),
      end("length"),
      end("STOP"),
      chunk({ delta: {}, finish_reason: "stop" }, { usage }),
      { ...chunk({}), choices: [], usage },
      { ...chunk({}), choices: [] },
      { type: "ping" },
      { error: { message: "no" } },
    ),
  );
  const streams = fc.tuple(fc.boolean(), fc.array(frame, { maxLength: 12 }), fc.boolean());

  it("tells the client what the events say, in lawful form", () => {
    fc.assert(
      fc.property(streams, ([opened, frames, done]) => {
        const said = [...(opened ? [role] : []), ...frames].map((one) => JSON.stringify(one));
        const text = [...said, ...(done ? ["[DONE]"] : [])]
          .map((data) => `data: ${data}\n\n`)
          .join("");
        const lane = new StraightLane(writeEvents(turn, context), { usageWanted: true });
        const lawful = runStage(new StreamNormalizer<UpstreamName>(), read(text, true));
        const seen = runStage(lane, lawful as never).join("");
        assertLawful(seen);
        expect(gist(answerOf(read(seen)))).toEqual(gist(answerOf(read(text))));
      }),
      { numRuns: 1_000 },
    );
  });
});

/** What the strictest readers want of a stream. */
function assertLawful(text: string): void {
  const frames = text.split("\n\n").map((frame) => frame.slice("data: ".length));
  expect(frames.slice(-2)).toEqual(["[DONE]", ""]);
  const chunks = frames.slice(0, -2).map((frame) => JSON.parse(frame) as Fields);
  const ids = new Set(chunks.flatMap((chunk) => ("error" in chunk ? [] : [chunk.id])));
  expect(ids.size).toBeLessThanOrEqual(1);
  const choices = chunks.flatMap(
    (chunk) => (chunk.choices ?? []) as { delta: Fields; finish_reason: unknown }[],
  );
  const isFailed = chunks.some((chunk) => "error" in chunk);
  expect(choices.filter(({ finish_reason }) => finish_reason != null).length).toBe(
    isFailed ? 0 : 1,
  );
  expect(choices.filter(({ delta }) => delta.role != null).length).toBeLessThanOrEqual(1);
  const pieces = choices.flatMap(({ delta }) => (delta.tool_calls ?? []) as Fields[]);
  const heads = pieces.filter((piece) => piece.id !== undefined);
  expect(heads.map((piece) => piece.index)).toEqual(heads.map((_, at) => at));
  expect(new Set(heads.map((piece) => piece.id)).size).toBe(heads.length);
  for (const piece of pieces) {
    const fn = piece.function as Fields | undefined;
    expect(fn?.name !== undefined).toBe(piece.id !== undefined);
    expect(typeof fn?.arguments).toBe("string");
  }
}
