import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Fields } from "../../turn/turn.ts";
import { fieldsIn } from "../shared/loose.ts";
import { frameParser } from "./fast-road.ts";

const frame = (sequence: unknown, delta: unknown, more: Fields = {}): string =>
  JSON.stringify({
    type: "response.output_text.delta",
    sequence_number: sequence,
    item_id: "msg_1",
    delta,
    logprobs: [],
    ...more,
  });

/** What a parser that has seen frames before makes of the last one. */
function last(...frames: string[]): Fields | undefined {
  const read = frameParser();
  let raw: Fields | undefined;
  for (const one of frames) raw = read(one);
  return raw && { ...raw };
}

const text = fc.string({ unit: "binary", maxLength: 20 });
const key = fc.constantFrom("delta", "sequence_number", "obfuscation", "item_id", "type", "x");
/** Frames in which the three values stand in any order, among others, perhaps twice. */
const shape = fc.record({
  keys: fc.shuffledSubarray(["type", "sequence_number", "delta", "obfuscation", "item_id", "x"], {
    minLength: 4,
  }),
  twice: fc.option(key, { nil: undefined }),
  item: fc.constantFrom("msg_1", '"delta":"', '","sequence_number":5', "\\"),
});
type Shape = { keys: string[]; twice: string | undefined; item: string };
type Values = { sequence: number; delta: string; padding: string };

function textOf({ keys, twice, item }: Shape, { sequence, delta, padding }: Values): string {
  const values: Record<string, unknown> = {
    type: "response.output_text.delta",
    sequence_number: sequence,
    delta,
    obfuscation: padding,
    item_id: item,
    x: { delta: "inner", sequence_number: 1 },
  };
  const all = twice === undefined ? keys : [...keys, twice];
  return `{${all.map((one) => `${JSON.stringify(one)}:${JSON.stringify(values[one])}`).join(",")}}`;
}

describe("the fast parsing of frames", () => {
  it("says what JSON.parse says, whatever the frames", () => {
    const values = fc.record({ sequence: fc.nat(), delta: text, padding: text });
    fc.assert(
      fc.property(shape, fc.array(values, { minLength: 2, maxLength: 5 }), (one, all) => {
        const read = frameParser();
        for (const each of all) {
          const data = textOf(one, each);
          expect({ ...read(data) }).toEqual(JSON.parse(data));
        }
      }),
      { numRuns: 500 },
    );
  });

  it("does not take for a frame what is none", () => {
    const good = frame(1, "a", { obfuscation: "xyz" });
    fc.assert(
      fc.property(fc.nat(good.length), fc.string({ maxLength: 3 }), fc.nat(3), (at, put, drop) => {
        const bad = good.slice(0, at) + put + good.slice(at + drop);
        expect(last(good, bad)).toEqual(fieldsIn(bad));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["a number that is none", frame(1, "a").replace(":1,", ":01,")],
    ["a broken escape", frame(1, "a").replace('"a"', '"\\x"')],
    ["a line break in a text", frame(1, "a").replace('"a"', '"\n"')],
    ["something behind", `${frame(1, "a")} x`],
  ])("leaves %s to the parser", (_, bad) => {
    expect(last(frame(0, "a"), bad)).toBeUndefined();
  });

  it("reads a change of anything else", () => {
    expect(last(frame(0, "a"), frame(1, "b", { item_id: "msg_2" }))).toMatchObject({
      item_id: "msg_2",
      delta: "b",
    });
    const logprobs = [{ token: "b" }];
    expect(last(frame(0, "a"), frame(1, "b", { logprobs }))).toMatchObject({ logprobs });
    expect(last(frame(0, "a"), '{"type":"response.completed"}')).toEqual({
      type: "response.completed",
    });
  });
});
