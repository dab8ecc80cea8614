import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Event,
  args,
  calls,
  chunk,
  delta,
  done,
  head,
  piece,
  role,
  stop,
  text,
  usage,
} from "../../../test/support/chat-frames.ts";
import { readStream, slicesOf } from "../../../test/support/frame-runs.ts";
import type { Fields } from "../../turn/turn.ts";
import { readEvents } from "./read-events.ts";

/** What the reader says of frames; `runs`: whether it may read several at once. */
function read(
  frames: readonly (Fields | string)[],
  { runs = true, places = [] as readonly number[], wanted = true } = {},
): Event[] {
  let made = 0;
  const reader = readEvents({ newId: (prefix) => `${prefix}_new${made++}`, frames: wanted });
  const wire = frames
    .map((frame) => `data: ${typeof frame === "string" ? frame : JSON.stringify(frame)}\n\n`)
    .join("");
  return readStream(reader, slicesOf(wire, places), runs);
}

/** The texts of the runs that frames are read in. */
function runsIn(frames: readonly Fields[]): string[] {
  const reader = readEvents({ newId: (prefix) => prefix, frames: false });
  const runs: string[] = [];
  const emit = (event: Event): void => {
    if ("literals" in event && event.literals !== undefined)
      runs.push(event.literals.pieces.join("|"));
  };
  for (const frame of frames) {
    const data = JSON.stringify(frame);
    const wire = `data: ${data}\n\n`;
    if (reader.run?.(wire, 0, emit) !== wire.length) reader.frame(data, undefined, false, emit);
  }
  return runs;
}

describe("a run of frames", () => {
  it("may be of text, arguments or reasoning", () => {
    expect(runsIn([role, text("a"), text("b"), text("c")])).toEqual(["b", "c"]);
    expect(runsIn([head(0, "c0", "f", "{"), args(0, "1"), args(0, "2")])).toEqual(["2"]);
    const custom = (input: string): Fields => piece({ index: 0, custom: { input } });
    const begun = piece({ index: 0, id: "c", type: "custom", custom: { name: "f", input: "a" } });
    expect(runsIn([begun, custom("b"), custom("c")])).toEqual(["c"]);
    for (const key of ["reasoning", "reasoning_content"])
      expect(runsIn([role, delta({ [key]: "a" }), delta({ [key]: "b" })])).toEqual(["b"]);
  });

  it("is none where the text is not in its place", () => {
    expect(runsIn([delta({ content: ["a"] }), delta({ content: ["b"] })])).toEqual([]);
  });

  it("does not begin with the first role", () => {
    const said = (content: string): Fields => delta({ role: "assistant", content });
    expect(runsIn([said("a"), said("b"), said("c")])).toEqual(["c"]);
  });
});

describe("frames that are read in runs", () => {
  const spoken = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "",
      '"',
      "\\",
      '"},"logprobs":null,"finish_reason":null}]}',
      "\u2028\t\u0000",
      '\\"',
    ),
  );
  const say = fc.oneof(
    spoken.map((content) => delta({ content })),
    spoken.map((content) => delta({ content, reasoning_content: null })),
    spoken.map((reasoning_content) => delta({ reasoning_content, content: null })),
    spoken.map((reasoning) => delta({ reasoning, content: "" })),
    spoken.map((both) => delta({ reasoning: both, reasoning_content: both })),
    spoken.map((refusal) => delta({ refusal })),
    spoken.map((content) => delta({ content, role: "assistant" })),
    fc
      .tuple(spoken, spoken)
      .map(([content, pad]) => delta({ content }, null, { obfuscation: pad })),
    spoken.map((content) => delta({ content }, null, { note: '"content":"x"', obfuscation: "ab" })),
    spoken.map((content) => chunk([{ content: "no", delta: { content }, index: 1 }])),
    spoken.map((reasoning) => delta({ reasoning, channel: "analysis" })),
    spoken.map((content) => delta({ content, growing: content })),
    spoken.map((more) =>
      delta({ tool_calls: [{ index: 0, function: { arguments: more } }], x: 1 }),
    ),
    fc.tuple(fc.nat(1), spoken).map(([index, more]) => args(index, more)),
    fc
      .tuple(fc.nat(1), spoken)
      .map(([index, more]) => piece({ index, id: "", function: { arguments: more } })),
    fc.tuple(fc.nat(1), spoken).map(([index, more]) => head(index, `c${index}`, "f", more)),
    spoken.map((more) => piece({ index: 0, custom: { input: more } })),
    spoken.map((more) => delta({ reasoning_details: [{ type: "reasoning.text", text: more }] })),
    spoken.map((content) => delta({ content }, null, { usage })),
    spoken.map((content) => delta({ content }, null, { citations: ["https://a"] })),
    fc.constantFrom(stop, calls, role, chunk([], { usage }), { error: { message: "no" } }),
  );
  const frame = fc
    .tuple(say, fc.constantFrom(undefined, 1), fc.nat(30))
    .map(([fields, space, chance]) => {
      const text = JSON.stringify(fields, null, space)?.replaceAll("\n", "") ?? "";
      if (chance === 0) return text.replace(/"}/, '\t"}');
      if (chance === 1) return text.replace(/"}/, '\\q"}');
      return chance === 2 ? text.slice(0, -2) : text;
    });
  /** Frames come in runs that differ in their text alone. */
  const run = fc.oneof(
    { weight: 2, arbitrary: fc.array(frame, { maxLength: 4 }) },
    fc
      .array(spoken, { maxLength: 6 })
      .map((texts) => texts.map((one) => JSON.stringify(text(one)))),
    fc
      .array(spoken, { maxLength: 6 })
      .map((texts) => texts.map((one) => JSON.stringify(args(0, one)))),
    fc
      .array(spoken, { maxLength: 6 })
      .map((texts) =>
        texts.map((reasoning) => JSON.stringify(delta({ reasoning, channel: "analysis" }))),
      ),
    fc
      .array(fc.tuple(spoken, spoken), { maxLength: 6 })
      .map((texts) =>
        texts.map(([content, obfuscation]) =>
          JSON.stringify(delta({ content }, null, { obfuscation })),
        ),
      ),
  );

  it("say what the parser says", () => {
    const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 });
    const all = fc.array(run, { maxLength: 6 });
    fc.assert(
      fc.property(all, fc.boolean(), fc.boolean(), places, (runs, opened, wanted, at) => {
        const frames = [...(opened ? [role, head(0, "c0", "f", "{")] : []), ...runs.flat(), done];
        expect(read(frames, { places: at, wanted })).toEqual(read(frames, { runs: false, wanted }));
      }),
      { numRuns: 1_000 },
    );
  });

  it("are not misled by words that stand elsewhere", () => {
    const odd = (content: string): Fields => ({
      note: '"content": "',
      ...text(content),
      more: { content: "b" },
    });
    const frames = [odd("a"), odd("b"), odd("c"), stop];
    expect(read(frames)).toEqual(read(frames, { runs: false }));
  });
});
