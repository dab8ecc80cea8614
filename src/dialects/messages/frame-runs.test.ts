import * as fc from "fast-check";
import { expect, it } from "vitest";
import { readStream, slicesOf } from "../../../test/support/frame-runs.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { readEvents } from "./read-events.ts";

type Event = TurnEvent<UpstreamName>;

const usage = { input_tokens: 1, output_tokens: 1 };
const blocks: Readonly<Record<string, { readonly start: Fields; readonly field: string }>> = {
  text_delta: { start: { type: "text", text: "" }, field: "text" },
  thinking_delta: { start: { type: "thinking", thinking: "", signature: "" }, field: "thinking" },
  input_json_delta: {
    start: { type: "tool_use", id: "toolu_1", name: "f", input: {} },
    field: "partial_json",
  },
};
const hosted = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };

const delta = (type: string, text: string, more: Fields = {}): Fields => ({
  type: "content_block_delta",
  index: 0,
  delta: { type, [blocks[type]?.field ?? ""]: text, ...more },
});

function read(
  events: readonly Fields[],
  { runs = true, wanted = true, named = true, places = [] as readonly number[] } = {},
): Event[] {
  const reader = readEvents({ newId: (prefix) => prefix, frames: wanted });
  const wire = events
    .map(
      (event) =>
        `${named ? `event: ${String(event.type)}\n` : ""}data: ${JSON.stringify(event)}\n\n`,
    )
    .join("");
  return readStream(reader, slicesOf(wire, places), runs);
}

it("reads frames in runs as it reads them one by one", () => {
  const text = fc.string({ unit: "binary", maxLength: 8 });
  const type = fc.constantFrom("text_delta", "thinking_delta", "input_json_delta");
  const piece = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ text, type: fc.constant(undefined), more: fc.constant({}) }),
    },
    { weight: 1, arbitrary: fc.record({ text, type, more: fc.constantFrom({}, { x: 1 }) }) },
  );
  const reading = fc.record({
    wanted: fc.boolean(),
    named: fc.boolean(),
    places: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
  });
  fc.assert(
    fc.property(type, fc.boolean(), fc.array(piece), reading, (own, isHosted, pieces, how) => {
      const start = isHosted ? hosted : blocks[own]?.start;
      const events = [
        { type: "message_start", message: { id: "msg_1", model: "m", content: [], usage } },
        { type: "content_block_start", index: 0, content_block: start },
        ...pieces.map(({ text, type, more }) => delta(type ?? own, text, more)),
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
        { type: "message_stop" },
      ];
      expect(read(events, how)).toEqual(read(events, { ...how, runs: false }));
    }),
    { numRuns: 1_000 },
  );
});

it("parses the first delta after the end of a block", () => {
  const events = [
    { type: "message_start", message: { id: "msg_1", model: "m", content: [], usage } },
    { type: "content_block_start", index: 0, content_block: blocks.text_delta?.start },
    delta("text_delta", "a"),
    { type: "content_block_stop", index: 0 },
    delta("text_delta", "b"),
    delta("text_delta", "c"),
  ];
  expect(read(events)).toEqual(read(events, { runs: false }));
});

it("gives a run as one delta and one frame", () => {
  const reader = readEvents({ newId: (prefix) => prefix, frames: true });
  const events: Event[] = [];
  const emit = (event: Event): void => void events.push(event);
  const frames = ["a", "b", "c", "d"].map((text) => JSON.stringify(delta("text_delta", text)));
  const [first = "", second = "", ...others] = frames;
  for (const data of [first, second]) reader.frame(data, "content_block_delta", false, emit);
  const wire = others.map((data) => `event: content_block_delta\ndata: ${data}\n\n`).join("");
  expect(reader.run?.(wire, 0, emit)).toBe(wire.length);
  expect(events.slice(-2)).toMatchObject([
    { type: "text-delta", choice: 0, text: "cd", literals: { of: "cd", pieces: ["c", "d"] } },
    { type: "frame", run: wire },
  ]);
});
