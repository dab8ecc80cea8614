import * as fc from "fast-check";
import { expect, it } from "vitest";
import { chat } from "../../src/dialects/chat/chat.ts";
import { StreamNormalizer } from "../../src/stream/normalize.ts";
import { fold } from "../../src/stream/fold.ts";
import { SseReader } from "../../src/stream/sse.ts";
import { runStage } from "../../src/stream/stage.ts";
import { StraightLane } from "../../src/stream/straight.ts";
import type { NewId } from "../../src/turn/clock.ts";
import type { TurnEvent } from "../../src/turn/event.ts";
import type { ClientName, UpstreamName } from "../../src/turn/names.ts";
import type { Fields } from "../../src/turn/turn.ts";

const counter = (): NewId => {
  let next = 0;
  return (prefix) => `${prefix}_${next++}`;
};

function read(frames: readonly string[], withFrames: boolean): TurnEvent<UpstreamName>[] {
  const events: TurnEvent<UpstreamName>[] = [];
  const reader = chat.upstream.readEvents({ newId: counter(), frames: withFrames });
  for (const data of frames)
    if (!reader.done()) reader.frame(data, undefined, false, (event) => void events.push(event));
  return events;
}

/** What the client of a chat upstream is sent, down the straight lane. */
function forwarded(frames: readonly string[]): string[] {
  const turn = chat.door.readRequest({
    model: "m",
    messages: [{ role: "user", content: "Hi" }],
    stream: true,
    stream_options: { include_usage: true },
  });
  const context = { id: "id", created: 1, now: () => 1, newId: counter() };
  const lane = new StraightLane(chat.door.writeEvents(turn, context), turn);
  // The names are the same on both sides of a straight lane.
  const events = read(frames, true) as unknown as TurnEvent<ClientName>[];
  const text = runStage(lane, runStage(new StreamNormalizer<ClientName>(), events)).join("");
  const sent: string[] = [];
  new SseReader((data) => void sent.push(data)).feed(text);
  return sent;
}

/** What an answer comes to, whichever way it went. */
function summary(events: readonly TurnEvent<UpstreamName>[]): unknown {
  const answer = fold(runStage(new StreamNormalizer<UpstreamName>(), events));
  const isFailed = answer.fault !== undefined;
  const items = answer.choices[0]?.items ?? [];
  return {
    isFailed,
    usage: isFailed ? undefined : answer.usage,
    stop: isFailed ? undefined : answer.choices[0]?.stop,
    text: items
      .flatMap((item) =>
        item.type === "message"
          ? item.parts.map((part) => (part.type === "text" ? part.text : ""))
          : [],
      )
      .join(""),
    // A call that came to nothing need not be told of.
    calls: isFailed
      ? []
      : items.flatMap((item) => (item.type === "call" ? [[item.id, item.name, item.input]] : [])),
  };
}

const piece = fc.constantFrom("a", "b", "{", '{"x":1}', "");
const fragment = fc.record(
  {
    index: fc.constantFrom(0, 1, 2, null),
    id: fc.constantFrom("c1", "c2", "", null),
    type: fc.constant("function"),
    function: fc.record(
      { name: fc.constantFrom("f", "g", "", null), arguments: fc.oneof(piece, fc.constant(null)) },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);
const delta = fc.oneof(
  { weight: 3, arbitrary: fc.record({ content: piece }) },
  { weight: 3, arbitrary: fc.record({ tool_calls: fc.array(fragment, { maxLength: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ reasoning_content: piece }) },
  { weight: 1, arbitrary: fc.constantFrom({}, { role: "assistant", content: null }) },
);
const finish = fc.constantFrom(null, null, null, null, "stop", "tool_calls", "length");
const entry = fc.tuple(delta, finish).map(([said, reason]) => ({
  index: 0,
  delta: said,
  finish_reason: reason,
}));
const chunkOf = (choices: readonly Fields[], more: Fields = {}): Fields => ({
  id: "x",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices,
  ...more,
});
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const chunk: fc.Arbitrary<Fields> = fc.oneof(
  { weight: 10, arbitrary: entry.map((one) => chunkOf([one])) },
  { weight: 1, arbitrary: entry.map((one) => chunkOf([one], { id: "y" })) },
  { weight: 1, arbitrary: entry.map((one) => chunkOf([one], { usage })) },
  { weight: 1, arbitrary: fc.constant(chunkOf([], { usage })) },
  { weight: 1, arbitrary: fc.constant({ error: { message: "no" } }) },
);
/** An answer that begins as it should. */
const begun = [{ role: "assistant", content: "" }, { content: "a" }].map((said) =>
  chunkOf([{ index: 0, delta: said, finish_reason: null }]),
);

it("says down the straight lane what any other way would have said", () => {
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 8 }), fc.boolean(), (chunks, isDone) => {
      const frames = [...begun, ...chunks].map((one) => JSON.stringify(one));
      if (isDone) frames.push("[DONE]");
      const sent = forwarded(frames);
      expect(summary(read(sent, false))).toEqual(summary(read(frames, false)));

      expect(sent.indexOf("[DONE]")).toBe(sent.length - 1);
      const bodies = sent.slice(0, -1).map((data) => JSON.parse(data) as Fields);
      const entries = bodies.flatMap(({ choices }) => (choices as Fields[] | undefined) ?? []);
      const ends = entries.filter(({ finish_reason }) => finish_reason != null);
      const errors = bodies.filter(({ error }) => error !== undefined);
      expect(ends.length + errors.length).toBe(1);
    }),
    { numRuns: 400 },
  );
});
