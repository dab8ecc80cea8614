import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Frame, TurnEvent } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import { clientName, type ClientName } from "../turn/names.ts";
import { StreamNormalizer } from "./normalize.ts";
import { sseDone, sseFrame } from "./sse.ts";
import { runStage } from "./stage.ts";
import { StraightLane, type EventWriter } from "./straight.ts";

type Event = TurnEvent<ClientName>;

/** A dialect with next to no words: numbers its frames, says counts and the sentinel last. */
function toyWriter(usageWanted: boolean): EventWriter<ClientName> {
  let next = 0;
  let counted = false;
  let failed = false;
  const frame = (word: string): string => sseFrame(`#${next++} ${word}`);
  return {
    each(event, emit) {
      if (event.type === "text-delta") emit(frame(`${event.choice}:${event.text}`));
      if (event.type === "turn-end") emit(frame(`${event.choice} ends`));
      if (event.type === "usage") counted = true;
      if (event.type !== "turn-fail") return;
      failed = true;
      emit(frame("failed"));
    },
    end(emit) {
      if (counted && usageWanted && !failed) emit(frame("counted"));
      emit(sseDone);
    },
    resumeAt: (sequence) => void (next = sequence),
  };
}

const text = (said: string, choice = 0): Event => ({ type: "text-delta", choice, text: said });
const stop = (choice = 0): Event => ({ type: "turn-end", choice, stop: "end" });
const usage: Event = { type: "usage", usage: { input: 1, output: 1, total: 2 } };
const fail: Event = { type: "turn-fail", fault: new Fault("upstream.failed", "it broke") };
const raw = (data: string, more: Partial<Frame> = {}): Event => ({
  type: "frame",
  data,
  forwardable: true,
  ...more,
});
const bent = raw("?", { forwardable: false });
const done = raw("[DONE]", { ends: "done" });

const run = (events: readonly Event[], usageWanted = true): string[] =>
  runStage(
    new StraightLane(toyWriter(usageWanted), { usageWanted }),
    runStage(new StreamNormalizer<ClientName>(), events),
  )
    .join("")
    .split("\n\n")
    .slice(0, -1)
    .map((frame) => frame.replace("data: ", ""));

describe("the straight lane", () => {
  it("forwards forwardable frames untouched and closes with the sentinel", () => {
    expect(run([text("a"), raw("A"), stop(), raw("END"), done])).toEqual(["A", "END", "[DONE]"]);
    expect(run([text("a"), raw("A"), stop(), raw("END")])).toEqual(["A", "END", "[DONE]"]);
  });

  it("forwards names and line breaks", () => {
    const said = run([text("a"), raw('{"a":\n1}', { name: "x" }), stop(), raw("END")]);
    expect(said[0]).toBe('event: x\n{"a":\ndata: 1}');
  });

  it("takes over at the first frame that needs repair, and never gives back", () => {
    const events = [text("a"), raw("A", { sequence: 6 }), text("b"), bent, text("c"), raw("C")];
    expect(run([...events, stop(), raw("END"), done])).toEqual([
      "A",
      "#7 0:b",
      "#8 0:c",
      "#9 0 ends",
      "[DONE]",
    ]);
  });

  it("says all in its own words where the first frame needs repair", () => {
    expect(run([text("a"), bent, stop(), raw("END"), done])).toEqual([
      "#0 0:a",
      "#1 0 ends",
      "[DONE]",
    ]);
  });

  it("takes over a whole body, which is no frame of a stream", () => {
    expect(run([text("a"), stop(), raw("{}", { whole: true })])).toEqual([
      "#0 0:a",
      "#1 0 ends",
      "[DONE]",
    ]);
  });

  it("forwards a count only to those who want it", () => {
    const events = [text("a"), raw("A"), stop(), raw("END"), usage];
    const counted = raw("COUNT", { usageOnly: true });
    expect(run([...events, counted, done], true)).toEqual(["A", "END", "COUNT", "[DONE]"]);
    expect(run([...events, counted, done], false)).toEqual(["A", "END", "[DONE]"]);
  });

  it("says an end no second time when it takes over behind it", () => {
    expect(run([text("a"), raw("A"), stop(), raw("END"), text("b"), bent, done])).toEqual([
      "A",
      "END",
      "#1 0:b",
      "[DONE]",
    ]);
    const two = [text("a"), text("b", 1), raw("AB"), stop(), raw("END", { sequence: 1 })];
    expect(run([...two, text("c", 1), bent, stop(1), raw("END 1"), done])).toEqual([
      "AB",
      "END",
      "#2 1:c",
      "#3 1 ends",
      "[DONE]",
    ]);
  });

  it("says a count that a frame behind the end could not", () => {
    const events = [text("a"), raw("A"), stop(), raw("END", { sequence: 1 }), usage, bent, done];
    expect(run(events, true)).toEqual(["A", "END", "#2 counted", "[DONE]"]);
    expect(run(events, false)).toEqual(["A", "END", "[DONE]"]);
  });

  it("says a count once and last, wherever and how often the upstream does", () => {
    const counted = raw("COUNT", { usageOnly: true });
    const early = [text("a"), raw("A"), usage, counted, stop(), raw("END", { sequence: 2 })];
    expect(run([...early, done])).toEqual(["A", "END", "COUNT", "[DONE]"]);
    expect(run([...early, usage, counted, done])).toEqual(["A", "END", "COUNT", "[DONE]"]);
    expect(run([...early, bent, done])).toEqual(["A", "END", "#3 counted", "[DONE]"]);
  });

  it("says the end itself where the frame that did was held back until the stream closed", () => {
    expect(run([text("a"), raw("A", { sequence: 0 }), stop(), usage])).toEqual([
      "A",
      "#1 0 ends",
      "#2 counted",
      "[DONE]",
    ]);
  });

  it("tells of a failure behind what it forwarded", () => {
    const begun = [text("a"), raw("A", { sequence: 0 })];
    expect(run([...begun, fail])).toEqual(["A", "#1 failed", "[DONE]"]);
    expect(run([...begun, text("b"), fail, raw("ERROR")])).toEqual([
      "A",
      "#1 0:b",
      "#2 failed",
      "[DONE]",
    ]);
  });

  it("tells of a cut, even where another choice has ended", () => {
    expect(run([text("a"), raw("A")]).slice(1)).toEqual(["#1 failed", "[DONE]"]);
    const events = [text("a"), raw("A"), stop(), raw("END"), text("b", 1), raw("B"), done];
    expect(run(events)).toEqual(["A", "END", "B", "#2 failed", "[DONE]"]);
  });

  it("writes of calls too", () => {
    const call: Event = {
      type: "call-start",
      choice: 0,
      call: 0,
      id: "c",
      kind: "function",
      name: clientName("f"),
    };
    expect(run([call, raw("CALL"), stop(), raw("END"), done])).toEqual(["CALL", "END", "[DONE]"]);
  });

  it("never repeats or loses a word, wherever it takes over", () => {
    type Said = { events: Event[]; isRegular: boolean; isHeld: boolean };
    const choice = fc.nat({ max: 1 });
    const event = fc.oneof(
      { weight: 4, arbitrary: choice.map((number): Event => text("", number)) },
      { weight: 2, arbitrary: choice.map((number): Event => stop(number)) },
      { weight: 1, arbitrary: fc.constant(usage) },
    );
    const frames = fc.array(
      fc.record({
        events: fc.array(event, { minLength: 1, maxLength: 2 }),
        isRegular: fc.boolean(),
        isHeld: fc.boolean(),
      }),
      { maxLength: 10 },
    );
    /**
     * What a reader makes of it: each word is numbered, so that none is like
     * another. It may hold frames back, up to an end.
     */
    const upstream = (plan: readonly Said[], isDone: boolean): Event[] => {
      const all: Event[] = [];
      let isOver = false;
      let words = 0;
      let isBent = false;
      let held: Frame[] = [];
      for (const { events, isRegular, isHeld } of plan) {
        const named = events.map((said) =>
          said.type === "text-delta" ? text(`w${words++}`, said.choice) : said,
        );
        const isCount = named.every(({ type }) => type === "usage");
        const isMixed = !isCount && named.some(({ type }) => type === "usage");
        isBent ||= !isRegular || isMixed;
        all.push(...named);
        held.push({
          type: "frame",
          forwardable: true,
          data: named.map(wordOf).join(","),
          usageOnly: isCount,
        });
        const isLate = isOver;
        isOver ||= named.some(({ type }) => type === "turn-end");
        if (isHeld && !isBent && !isLate) continue;
        for (const frame of held)
          all.push(isBent ? { ...frame, data: "?", forwardable: false } : frame);
        held = [];
      }
      return isDone ? [...all, ...held, done] : all;
    };
    const wordOf = (said: Event): string => {
      if (said.type === "text-delta") return `${said.choice}:${said.text}`;
      if (said.type === "turn-end") return `${said.choice} ends`;
      return "counted";
    };
    /** Every end and count once, as an upstream in order says them. */
    const inOrder = (plan: readonly Said[]): Said[] => {
      const seen = new Set<string>();
      const fresh = (said: Event): boolean =>
        said.type === "text-delta" || (!seen.has(wordOf(said)) && !!seen.add(wordOf(said)));
      return plan
        .map((frame) => ({ ...frame, events: frame.events.filter(fresh) }))
        .filter(({ events }) => events.length > 0);
    };

    fc.assert(
      fc.property(frames, fc.boolean(), fc.boolean(), (loose, isDone, usageWanted) => {
        const plan = inOrder(loose);
        const events = upstream(plan, isDone);
        const words = run(events, usageWanted).flatMap((line) =>
          line.split(",").map((word) => word.replace(/^#\d+ /, "")),
        );
        const given = plan.flatMap((frame) => frame.events);
        const spoken = events.filter(({ type }) => type === "text-delta").map(wordOf);
        const choices = new Set(given.flatMap((said) => ("choice" in said ? [said.choice] : [])));
        const ended = given.filter(({ type }) => type === "turn-end");
        const isFailed = choices.size === 0 || ended.length < choices.size;

        expect(words.filter((word) => word.includes(":"))).toEqual(spoken);
        expect(words.at(-1)).toBe("[DONE]");
        expect(words.filter((word) => word === "[DONE]")).toHaveLength(1);
        expect(words.filter((word) => word === "failed")).toHaveLength(isFailed ? 1 : 0);
        const ends = words.filter((word) => word.endsWith("ends"));
        expect(new Set(ends).size).toBe(ends.length);
        expect(isFailed || ends.length === choices.size).toBe(true);
        const counts = words.filter((word) => word === "counted").length;
        const isCounted = usageWanted && given.some(({ type }) => type === "usage");
        expect(counts).toBeLessThanOrEqual(isCounted ? 1 : 0);
        expect(isFailed || counts === (isCounted ? 1 : 0)).toBe(true);
      }),
      { numRuns: 1500 },
    );
  });
});
