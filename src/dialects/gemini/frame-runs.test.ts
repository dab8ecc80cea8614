import * as fc from "fast-check";
import { expect, it } from "vitest";
import { readStream, slicesOf } from "../../../test/support/frame-runs.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { readEvents } from "./read-events.ts";

const chunk = (part: Fields, output: number | undefined, end: Fields = {}): Fields => ({
  candidates: [{ content: { parts: [part], role: "model" }, ...end, index: 0 }],
  ...(output !== undefined && {
    usageMetadata: {
      promptTokenCount: 4,
      candidatesTokenCount: output,
      totalTokenCount: 4 + output,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: 4 }],
    },
  }),
  modelVersion: "m",
  responseId: "r",
});
const call = { functionCall: { name: "f", args: { at: 1 } } };

type Reading = {
  readonly runs?: boolean;
  readonly lineEnd?: string;
  readonly places?: readonly number[];
};

function read(chunks: readonly Fields[], reading: Reading = {}): TurnEvent<UpstreamName>[] {
  const { runs = true, lineEnd = "\r\n", places = [] } = reading;
  const reader = readEvents({ newId: (prefix) => prefix, frames: false });
  const frames = chunks.map((one) => `data: ${JSON.stringify(one)}${lineEnd}${lineEnd}`);
  return readStream(reader, slicesOf(frames.join(""), places), runs);
}

it("reads chunks in runs as it reads them one by one", () => {
  const text = fc.string({ unit: "binary", maxLength: 8 });
  const part = fc.oneof(
    { weight: 6, arbitrary: text.map((text): Fields => ({ text })) },
    { weight: 3, arbitrary: text.map((text): Fields => ({ text, thought: true })) },
    { weight: 1, arbitrary: text.map((text): Fields => ({ text, thoughtSignature: "cmF3" })) },
    { weight: 1, arbitrary: fc.constant<Fields>(call) },
  );
  const pieces = fc.array(fc.tuple(part, fc.option(fc.nat(2_000), { nil: undefined })));
  const end = fc.constantFrom<Fields>({}, { finishReason: "STOP" }, { finishReason: "MAX_TOKENS" });
  const reading = fc.record({
    lineEnd: fc.constantFrom("\n", "\r\n"),
    places: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
  });
  fc.assert(
    fc.property(pieces, end, end, reading, (said, every, last, how) => {
      const chunks = said.map(([part, output]) => chunk(part, output, every));
      const all = [...chunks, chunk({ text: "" }, undefined, last)];
      expect(read(all, how)).toEqual(read(all, { ...how, runs: false }));
    }),
    { numRuns: 1_000 },
  );
});

it("counts by the last chunk of a run if the answer ends or fails after it", () => {
  const texts = ["a", "b", "c", "d"].map((text, at) => chunk({ text }, at + 1));
  const usage = { type: "usage", usage: { input: 4, output: 4, total: 8 } };
  const ended = [...texts, chunk({ text: "" }, undefined, { finishReason: "STOP" })];
  expect(read(ended).at(-1)).toMatchObject(usage);
  const failed = [...texts, { error: { code: 503, message: "m", status: "UNAVAILABLE" } }];
  expect(read(failed).slice(-2)).toMatchObject([usage, { type: "turn-fail" }]);
});

it("gives a run as one delta, whatever its counts", () => {
  const texts = ["a", "b", "c", "d"].map((text, at) => chunk({ text }, at * 100));
  const deltas = read(texts, { runs: false }).filter(({ type }) => type === "text-delta");
  expect(deltas).toHaveLength(4);
  const reader = readEvents({ newId: (prefix) => prefix, frames: false });
  const events: TurnEvent<UpstreamName>[] = [];
  const emit = (event: TurnEvent<UpstreamName>): void => void events.push(event);
  const [first, second, ...others] = texts.map((one) => JSON.stringify(one));
  for (const data of [first, second]) reader.frame(data ?? "", undefined, false, emit);
  const wire = others.map((data) => `data: ${data}\n\n`).join("");
  expect(reader.run?.(wire, 0, emit)).toBe(wire.length);
  expect(events.at(-1)).toMatchObject({ type: "text-delta", text: "cd" });
});
