import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { streamBothWays, wholeBothWays } from "../../../test/support/both-ways.ts";
import { args, chunk, delta, done, head } from "../../../test/support/chat-frames.ts";
import * as ordinary from "../../../test/support/ordinary-chat.ts";
import { anyAnswer, cutUp, type RandomAnswer } from "../../../test/support/random-answers.ts";
import { recordings } from "../../../test/support/recordings.ts";
import type { Fields } from "../../turn/turn.ts";
import { readEvents } from "./read-events.ts";

const bothWays = (frames: readonly string[], places?: readonly number[]) =>
  streamBothWays(readEvents, frames.map((data) => `data: ${data}\n\n`).join(""), places);

const textOf = (frame: Fields | string): string =>
  typeof frame === "string" ? frame : JSON.stringify(frame);

const streams: [string, readonly string[]][] = [
  ...Object.entries(ordinary.streams).map(([title, { answer }]): [string, string[]] => [
    title,
    [...answer.map(textOf), done],
  ]),
  ...recordings
    .filter(({ dialect }) => dialect === "chat")
    .map(({ file, events }): [string, readonly string[]] => [file, events]),
];

/** Frames that the plain way does not take. */
const oddFrames: readonly Fields[] = [
  delta({ role: "assistant", content: "again" }),
  delta({ content: [{ type: "text", text: "in parts" }] }),
  { ...delta({ content: "x" }), id: "another" },
  { ...delta({ content: "x" }), created: null },
  args(0, ""),
  args(1, "{"),
  head(0, "c9", "look", "{}"),
  head(7, "c8", "find"),
  delta({ tool_calls: [{ id: "c7", function: { name: "look", arguments: {} } }] }),
  delta({ function_call: { name: "look", arguments: "{}" } }),
  delta({ reasoning_details: [{ type: "reasoning.text", text: "x", signature: "s" }] }),
  delta({}, "stop"),
  delta({}, "tool_use"),
  chunk([{ index: 1, delta: { role: "assistant", content: "x" } }]),
  chunk([{ index: 0, message: { role: "assistant", content: "x" } }]),
  chunk([]),
  { choices: [], usage: { prompt_tokens: 1 } },
  { type: "ping" },
];

describe("the plain and the tolerant way read alike", () => {
  it.each(streams)("%s", (_, frames) => {
    const [plain, tolerant] = bothWays(frames);
    expect(plain).toEqual(tolerant);
  });

  it.each(streams)("%s, cut anywhere, with other frames between", (_, frames) => {
    const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 });
    const more = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...oddFrames)), { maxLength: 3 });
    fc.assert(
      fc.property(places, more, (at, others) => {
        const mixed = [...frames];
        for (const [place, frame] of others) mixed.splice(place % frames.length, 0, textOf(frame));
        const [plain, tolerant] = bothWays(mixed, at);
        expect(plain).toEqual(tolerant);
      }),
      { numRuns: 30 },
    );
  });

  it("any answer in pieces of any length", () => {
    fc.assert(
      fc.property(anyAnswer, fc.integer({ min: 1, max: 9 }), (answer, size) => {
        const [plain, tolerant] = bothWays(framesOf(answer, size).map(textOf));
        expect(plain).toEqual(tolerant);
      }),
      { numRuns: 300 },
    );
  });

  it.each(Object.entries(ordinary.bodies))("a whole body: %s", (_, { answer }) => {
    const [plain, tolerant] = wholeBothWays(readEvents, JSON.stringify(answer));
    expect(plain).toEqual(tolerant);
  });
});

function framesOf({ reasoning, text, calls }: RandomAnswer, size: number): (Fields | string)[] {
  return [
    delta({ role: "assistant", content: "" }),
    ...cutUp(reasoning, size).map((reasoning_content) => delta({ reasoning_content })),
    ...cutUp(text, size).map((content) => delta({ content })),
    ...calls.flatMap(({ name, args: input }, index) => [
      head(index, `c${index}`, name),
      ...cutUp(input, size).map((piece) => args(index, piece)),
    ]),
    delta({}, calls.length > 0 ? "tool_calls" : "stop"),
    done,
  ];
}
