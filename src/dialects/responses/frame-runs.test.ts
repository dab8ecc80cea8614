import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readStream, slicesOf } from "../../../test/support/frame-runs.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { readEvents } from "./read-events.ts";

type Event = TurnEvent<UpstreamName>;

const item = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "in_progress",
  content: [],
};
const opening = [
  { type: "response.created", sequence_number: 0, response: { id: "resp_1" } },
  { type: "response.output_item.added", sequence_number: 1, output_index: 0, item },
].map((event) => JSON.stringify(event));
const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
const frame = (sequence: unknown, delta: unknown, more: Fields = {}): string =>
  JSON.stringify({
    type: "response.output_text.delta",
    sequence_number: sequence,
    ...place,
    delta,
    logprobs: [],
    ...more,
  });

type Reading = { runs?: boolean; places?: readonly number[]; wanted?: boolean; named?: boolean };

function read(
  frames: readonly string[],
  { runs = true, places = [], wanted = true, named = true }: Reading = {},
): Event[] {
  const reader = readEvents({ newId: (prefix) => prefix, frames: wanted });
  const wire = [...opening, ...frames].map((data) => {
    const type = /"type":"([\w.]+)"/.exec(data)?.[1] ?? "response.output_text.delta";
    return `${named ? `event: ${type}\n` : ""}data: ${data}\n\n`;
  });
  return readStream(reader, slicesOf(wire.join(""), places), runs);
}

const text = fc.string({ unit: "binary", maxLength: 20 });
const key = fc.constantFrom("delta", "sequence_number", "obfuscation", "item_id", "type", "x");
/** Frames in which the three values stand in any order, among others, perhaps twice. */
const shape = fc.record({
  keys: fc.shuffledSubarray(
    ["type", "sequence_number", "delta", "obfuscation", "item_id", "output_index", "x"],
    { minLength: 5 },
  ),
  twice: fc.option(key, { nil: undefined }),
  type: fc.constantFrom(
    "response.output_text.delta",
    "response.reasoning_text.delta",
    "response.function_call_arguments.delta",
  ),
});
type Shape = { keys: string[]; twice: string | undefined; type: string };
type Values = { sequence: number; delta: string; padding: string };

function textOf({ keys, twice, type }: Shape, { sequence, delta, padding }: Values): string {
  const values: Record<string, unknown> = {
    type,
    sequence_number: sequence,
    delta,
    obfuscation: padding,
    ...place,
    x: { delta: "inner", sequence_number: 1 },
  };
  const all = twice === undefined ? keys : [...keys, twice];
  return `{${all.map((one) => `${JSON.stringify(one)}:${JSON.stringify(values[one])}`).join(",")}}`;
}

const reading = fc.record({
  wanted: fc.boolean(),
  named: fc.boolean(),
  places: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
});

const argument = (delta: string): Fields => ({
  type: "response.function_call_arguments.delta",
  item_id: "fc_1",
  output_index: 1,
  delta,
});

describe("frames that are read in runs", () => {
  it("are read in runs", () => {
    const reader = readEvents({ newId: (prefix) => prefix, frames: true });
    const events: Event[] = [];
    const emit = (event: Event): void => void events.push(event);
    for (const data of [...opening, frame(2, "a"), frame(3, "b")])
      reader.frame(data, "response.output_text.delta", false, emit);
    const wire = [frame(4, "c"), frame(5, '"')].map(
      (data) => `event: response.output_text.delta\ndata: ${data}\n\n`,
    );
    expect(reader.run?.(wire.join(""), 0, emit)).toBe(wire.join("").length);
    expect(events.slice(-2)).toMatchObject([
      { type: "text-delta", choice: 0, text: 'c"', literals: { of: 'c"', pieces: ["c", '\\"'] } },
      { type: "frame", run: wire.join(""), forwardable: true, sequence: 5 },
    ]);
  });

  it("say what the parser says, whatever the frames", () => {
    const step = fc.record({ skipped: fc.constantFrom(0, 0, 0, 1), delta: text, padding: text });
    const steps = fc.array(step, { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(shape, fc.nat(3), steps, reading, (one, first, all, how) => {
        let sequence = first;
        const frames = all.map(({ skipped, ...values }) =>
          textOf(one, { ...values, sequence: (sequence += 1 + skipped) }),
        );
        expect(read(frames, how)).toEqual(read(frames, { ...how, runs: false }));
      }),
      { numRuns: 1_000 },
    );
  });

  it("are none that a change makes of them", () => {
    const good = frame(3, "a", { obfuscation: "xyz" });
    const change = fc.tuple(
      fc.nat(good.length),
      fc.string({ maxLength: 3 }).map((put) => put.replaceAll(/[\r\n]/g, "")),
      fc.nat(3),
    );
    fc.assert(
      fc.property(change, ([at, put, drop]) => {
        const bad = good.slice(0, at) + put + good.slice(at + drop);
        const frames = [frame(2, "-", { obfuscation: "xyz" }), bad, good];
        expect(read(frames)).toEqual(read(frames, { runs: false }));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["a number that is none", frame(3, "a").replace(":3,", ":03,")],
    ["a broken escape", frame(3, "a").replace('"a"', '"\\x"')],
    ["a control character in a text", frame(3, "a").replace('"a"', '"\t"')],
    ["something behind", `${frame(3, "a")} x`],
  ])("leave %s to the parser", (_, bad) => {
    expect(read([frame(2, "a"), bad]).at(-1)).toMatchObject({ type: "turn-fail" });
  });

  it("keep their pieces while they wait for the end of another item", () => {
    const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "f", arguments: "" };
    const other = { ...item, id: "msg_2" };
    const events: readonly Fields[] = [
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.output_item.added", output_index: 1, item: call },
      argument('{"a":1}'),
      { type: "response.output_item.done", output_index: 1, item: call },
      { type: "response.output_item.added", output_index: 2, item: other },
      { type: "response.output_item.added", output_index: 1, item: { ...call, call_id: "call_2" } },
      ...["{", '"a":', "1", "}"].map(argument),
      { type: "response.output_item.done", output_index: 2, item: other },
    ];
    const frames = events.map((event, at) => JSON.stringify({ ...event, sequence_number: at + 2 }));
    for (const wanted of [true, false])
      expect(read(frames, { wanted })).toEqual(read(frames, { wanted, runs: false }));
  });

  it("show a change of anything else", () => {
    for (const more of [{ item_id: "msg_2" }, { logprobs: [{ token: "b" }] }]) {
      const frames = [frame(2, "a"), frame(3, "b"), frame(4, "c", more)];
      expect(read(frames)).toEqual(read(frames, { runs: false }));
    }
  });
});
