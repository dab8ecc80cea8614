import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { broken } from "../../test/support/stream-grammar.ts";
import type { VendorExtra, StopReason, TurnEvent } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import { upstreamName, type UpstreamName } from "../turn/names.ts";
import { StreamNormalizer } from "./normalize.ts";
import { runStage } from "./stage.ts";

type Event = TurnEvent<UpstreamName>;

const text = (said: string, choice = 0): Event => ({ type: "text-delta", choice, text: said });
const think = (said: string, choice = 0): Event => ({
  type: "reasoning-delta",
  choice,
  text: said,
  of: "content",
  part: 0,
});
const call = (number: number, kind = "function", choice = 0): Event => ({
  type: "call-start",
  choice,
  call: number,
  id: `call_${number}`,
  kind,
  name: upstreamName("f"),
});
const input = (number: number, said: string, choice = 0): Event => ({
  type: "call-delta",
  choice,
  call: number,
  text: said,
});
const callEnd = (number: number, complete: boolean): Event => ({
  type: "call-end",
  choice: 0,
  call: number,
  complete,
});
const item = (what: "start" | "note" | "end", number: number): Event => ({
  type: `item-${what}`,
  choice: 0,
  item: number,
  dialect: "responses",
  raw: { what },
});
const stop = (reason: StopReason = "end", choice = 0): Event => ({
  type: "turn-end",
  choice,
  stop: reason,
});
const usage: Event = { type: "usage", usage: { input: 1, output: 2, total: 3 } };
const frame: Event = { type: "frame", data: "{}", forwardable: true };
const fault = new Fault("upstream.failed", "it broke");
const fail: Event = { type: "turn-fail", fault };
const cut: Event = { type: "turn-fail", fault: new Fault("upstream.cut", "it closed") };
const extra = { dialect: "chat", fields: { odd: 1 } } as const;
const start: Event = { type: "turn-start" };

const run = (events: readonly Event[], asked?: number): Event[] =>
  runStage(new StreamNormalizer<UpstreamName>(asked), events);

/** Events in a line each, as short as can be told apart. */
const brief = (events: readonly Event[]): string[] =>
  events.map((event) => {
    const words: (string | number | undefined)[] = [event.type];
    if ("choice" in event && event.choice !== 0) words.push(`(${event.choice})`);
    if ("call" in event) words.push(event.call);
    if ("item" in event) words.push(event.item);
    if ("text" in event) words.push(event.text);
    if ("stop" in event) words.push(event.stop);
    if ("complete" in event && event.complete === false) words.push("cut");
    if (event.type === "turn-fail") words.push(event.fault.code);
    return words.join(" ");
  });

describe("blocks", () => {
  it("opens and closes what the reader left open", () => {
    expect(brief(run([text("a"), text("b"), stop()]))).toEqual([
      "turn-start",
      "text-start",
      "text-delta a",
      "text-delta b",
      "text-end",
      "turn-end end",
    ]);
  });

  it("leaves alone what is lawful already", () => {
    const events: Event[] = [
      { type: "turn-start", id: "r1" },
      { type: "reasoning-start", choice: 0, id: "rs" },
      think("hm"),
      { type: "reasoning-end", choice: 0, encrypted: "x" },
      { type: "text-start", choice: 0, id: "m1" },
      text("a"),
      { type: "text-break", choice: 0 },
      text("b"),
      { type: "text-end", choice: 0 },
      call(0),
      input(0, "{}"),
      callEnd(0, true),
      item("start", 0),
      item("note", 0),
      item("end", 0),
      usage,
      stop("calls"),
    ];
    expect(run(events)).toEqual(events);
  });

  it("alternates between reasoning and text", () => {
    expect(brief(run([think("1"), text("2"), think("3"), stop()]))).toEqual([
      "turn-start",
      "reasoning-start",
      "reasoning-delta 1",
      "reasoning-end",
      "text-start",
      "text-delta 2",
      "text-end",
      "reasoning-start",
      "reasoning-delta 3",
      "reasoning-end",
      "turn-end end",
    ]);
  });

  it("keeps parallel calls open until the stream is over, since either may go on", () => {
    const events = [call(0), input(0, "a"), call(1), input(1, "b"), input(0, "c"), stop("calls")];
    expect(brief(run(events))).toEqual([
      "turn-start",
      "call-start 0",
      "call-delta 0 a",
      "call-start 1",
      "call-delta 1 b",
      "call-delta 0 c",
      "call-end 0",
      "call-end 1",
      "turn-end calls",
    ]);
  });

  it("closes a text before a call, and lets text follow calls", () => {
    expect(brief(run([text("a"), call(0), input(0, "{}"), text("b"), stop()]))).toEqual([
      "turn-start",
      "text-start",
      "text-delta a",
      "text-end",
      "call-start 0",
      "call-delta 0 {}",
      "text-start",
      "text-delta b",
      "text-end",
      "call-end 0",
      "turn-end calls",
    ]);
  });

  it("holds a finish back, so that text and counts may follow it", () => {
    expect(brief(run([text("a"), stop(), text("b"), usage]))).toEqual([
      "turn-start",
      "text-start",
      "text-delta a",
      "text-delta b",
      "usage",
      "text-end",
      "turn-end end",
    ]);
  });

  it("lets frames pass in place once the turn has begun, and notes which choices they ended", () => {
    const said = run([frame, text("a"), frame, text("b", 1), stop(), frame, stop("end", 1), frame]);
    expect(said.filter(({ type }) => type === "frame")).toEqual([
      frame,
      frame,
      { ...frame, stops: [0] },
      { ...frame, stops: [1] },
    ]);
    expect(brief(said).slice(0, 5)).toEqual([
      "turn-start",
      "frame",
      "text-start",
      "text-delta a",
      "frame",
    ]);
  });

  it("drops empty deltas but not the log-probabilities that come with one", () => {
    const silent: Event = { type: "text-delta", choice: 0, text: "", logprobs: [1] };
    const events = [text(""), think(""), call(0, "custom"), input(0, ""), silent, stop()];
    expect(brief(run(events))).toEqual([
      "turn-start",
      "call-start 0",
      "text-start",
      "text-delta ",
      "text-end",
      "call-end 0",
      "turn-end calls",
    ]);
  });

  it("drops a second start of the turn or of a call, and strays of what is not open", () => {
    const events = [start, start, call(0), call(0), input(0, "1"), callEnd(0, true), input(0, "2")];
    const strays: Event[] = [
      callEnd(0, true),
      callEnd(7, true),
      input(7, "?"),
      { type: "text-end", choice: 0 },
      { type: "reasoning-end", choice: 0 },
      item("note", 3),
    ];
    expect(brief(run([...events, ...strays, stop()]))).toEqual([
      "turn-start",
      "call-start 0",
      "call-delta 0 1",
      "call-end 0",
      "turn-end calls",
    ]);
  });

  it("opens a reasoning for a seal that comes alone", () => {
    const sealed: Event = { type: "reasoning-end", choice: 0, encrypted: "x" };
    expect(run([sealed, stop()])).toEqual([
      start,
      { type: "reasoning-start", choice: 0 },
      sealed,
      stop(),
    ]);
  });

  it("closes items that were not, and opens those that were only closed", () => {
    expect(run([item("start", 0), item("end", 1), stop()])).toEqual([
      start,
      item("start", 0),
      { ...item("start", 1), raw: { what: "end" } },
      item("end", 1),
      { ...item("end", 0), raw: { what: "start" } },
      stop(),
    ]);
  });

  it("does not break a text for news of an item beside it", () => {
    expect(brief(run([item("start", 0), text("a"), item("note", 0), text("b"), stop()]))).toEqual([
      "turn-start",
      "item-start 0",
      "text-start",
      "text-delta a",
      "item-note 0",
      "text-delta b",
      "text-end",
      "item-end 0",
      "turn-end end",
    ]);
  });

  describe("arguments", () => {
    it("are {} for a function called with nothing", () => {
      expect(brief(run([call(0), stop()]))).toContain("call-delta 0 {}");
      expect(brief(run([call(0), callEnd(0, true), stop()]))).toContain("call-delta 0 {}");
    });

    it("are {} for a function called with blanks", () => {
      const events = brief(run([call(0), input(0, " "), input(0, "\n"), stop()]));
      expect(events).toContain("call-delta 0 {}");
      expect(brief(run([call(0), input(0, " "), input(0, "{}"), stop()]))).toHaveLength(
        events.length - 1,
      );
    });

    it("stay empty for other kinds, and for a call that was cut off", () => {
      expect(brief(run([call(0, "custom"), stop()]))).not.toContain("call-delta 0 {}");
      expect(brief(run([call(0), stop("length")]))).toContain("call-end 0 cut");
      expect(brief(run([call(0), stop("length")]))).not.toContain("call-delta 0 {}");
      expect(brief(run([call(0), callEnd(0, false), stop()]))).not.toContain("call-delta 0 {}");
    });
  });

  describe("a cut by length", () => {
    const ends = (events: readonly Event[]): string[] =>
      brief(run([...events, stop("length")])).filter((line) => /^\S+-end/.test(line));

    it("spoils the call last written and no other", () => {
      const events = [call(0), input(0, "a"), call(1), input(1, "b")];
      expect(ends(events)).toEqual(["call-end 0", "call-end 1 cut", "turn-end length"]);
      expect(ends([...events, input(0, "c")])).toEqual([
        "call-end 0 cut",
        "call-end 1",
        "turn-end length",
      ]);
    });

    it("spoils the text after a call, and not the call", () => {
      expect(ends([call(0), input(0, "{}"), text("a")])).toEqual([
        "text-end cut",
        "call-end 0",
        "turn-end length",
      ]);
    });

    it("spoils what was really last where a call and a text go on side by side", () => {
      const events = [call(0), text("a"), input(0, "{}")];
      expect(ends(events)).toEqual(["text-end", "call-end 0 cut", "turn-end length"]);
      expect(ends([...events, text("b")])).toEqual([
        "text-end cut",
        "call-end 0",
        "turn-end length",
      ]);
      expect(ends([...events, item("start", 0), item("end", 0)])).toContain("call-end 0");
    });

    it("is not taken back by a second finish", () => {
      expect(ends([text("a"), stop("length"), stop("end")])).toContain("turn-end length");
      expect(ends([text("a"), stop("end")])).toContain("turn-end length");
    });
  });

  describe("the stop reason", () => {
    it("is whether calls were made, whatever the upstream calls it", () => {
      expect(brief(run([call(0), input(0, "1"), stop("end")])).at(-1)).toBe("turn-end calls");
      expect(brief(run([text("a"), stop("calls")])).at(-1)).toBe("turn-end end");
      expect(brief(run([text("a"), stop("filter")])).at(-1)).toBe("turn-end filter");
    });

    it("is each choice's own", () => {
      const events = [text("a"), call(0, "custom", 1), stop("length"), stop("end", 1)];
      expect(brief(run(events)).slice(-4)).toEqual([
        "text-end cut",
        "turn-end length",
        "call-end (1) 0",
        "turn-end (1) calls",
      ]);
    });
  });

  describe("failure", () => {
    it("comes alone where nothing was said before it", () => {
      expect(run([fail, text("a"), stop()])).toEqual([fail]);
      expect(run([frame, fail, frame])).toEqual([fail]);
      expect(brief(run([frame]))).toEqual(["turn-fail upstream.empty"]);
    });

    it("closes everything as cut off and lets nothing pass", () => {
      const events = [text("a"), call(0), input(0, "{}"), text("b"), item("start", 0)];
      expect(brief(run([...events, think("c", 1), fail, usage, frame, stop()]))).toEqual([
        "turn-start",
        "text-start",
        "text-delta a",
        "text-end",
        "call-start 0",
        "call-delta 0 {}",
        "text-start",
        "text-delta b",
        "text-end",
        "item-start 0",
        "reasoning-start (1)",
        "reasoning-delta (1) c",
        "call-end 0 cut",
        "item-end 0",
        "reasoning-end (1) cut",
        "turn-fail upstream.failed",
      ]);
    });

    it("cannot spoil an answer that is over by being the end of what can be heard", () => {
      expect(brief(run([text("a"), stop(), cut])).at(-1)).toBe("turn-end end");
    });

    it("spoils an answer that is over where the upstream says so itself", () => {
      const said = run([text("a"), stop(), fail]);
      expect(said.filter(({ type }) => type.startsWith("turn-"))).toEqual([start, fail]);
    });

    it("spoils it where another choice is under way, or was asked for", () => {
      expect(run([text("a"), text("b", 1), stop(), fail]).at(-1)).toEqual(fail);
      expect(run([text("a"), stop(), fail], 2).at(-1)).toEqual(fail);
    });

    it("is what a stream without an end becomes", () => {
      expect(brief(run([text("a")])).at(-1)).toBe("turn-fail upstream.cut");
      expect(brief(run([call(0), input(0, "{}")])).slice(-2)).toEqual([
        "call-end 0 cut",
        "turn-fail upstream.cut",
      ]);
      expect(brief(run([text("a"), text("b", 1), stop()])).at(-1)).toBe("turn-fail upstream.cut");
    });

    it("is what a stream without an answer becomes", () => {
      expect(brief(run([]))).toEqual(["turn-fail upstream.empty"]);
      expect(brief(run([start, usage, frame]))).toEqual([
        "turn-start",
        "usage",
        "frame",
        "turn-fail upstream.empty",
      ]);
    });

    it("is not what an empty answer with a finish is", () => {
      expect(run([stop()])).toEqual([start, stop()]);
    });
  });

  describe("a choice that a rule behind has stopped", () => {
    const stopped = (of: number, asked = 2) =>
      new StreamNormalizer<UpstreamName>(asked, (one) => one === of);

    it("has no end to wait for, and its end is not ours to tell", () => {
      const said = runStage(stopped(1), [start, text("a"), text("b", 1), stop("length")]);
      expect(said.filter(({ type }) => type.startsWith("turn-"))).toEqual([start, stop("length")]);
    });

    it("is spoiled by no failure, once the others have ended", () => {
      const said = runStage(stopped(1), [start, text("b", 1), text("a"), stop(), fail]);
      expect(said.at(-1)).toEqual(stop());
      expect(runStage(stopped(1), [start, text("b", 1), text("a"), fail]).at(-1)).toEqual(fail);
    });

    it("was cut off with its stream where another never began", () => {
      expect(runStage(stopped(1), [start, text("b", 1)]).at(-1)).toMatchObject({
        type: "turn-fail",
        fault: { code: "upstream.cut" },
      });
      const fewer = runStage(stopped(0), [start, text("a"), stop()]);
      expect(fewer.at(-1)).toEqual(stop());
    });

    it("makes the upstream dispensable when the others have ended, and not before", () => {
      const stage = stopped(1);
      const then = (...events: Event[]): boolean | undefined => {
        for (const event of events) stage.each(event, () => {});
        return stage.done?.();
      };
      expect(then(start, text("b", 1))).toBe(false);
      expect(then(text("a"))).toBe(false);
      expect(then(stop())).toBe(true);
      // What has ended everywhere has nothing left to interrupt, and counts to tell.
      expect(then(stop("calls", 1))).toBe(false);
    });
  });

  it("is not slowed by a choice with an absurd number", () => {
    expect(brief(run([text("a", 4_000_000_000), stop("end", 4_000_000_000)]))).toHaveLength(5);
  });

  const small = fc.nat({ max: 2 });
  const words = fc.constantFrom("", "a", "b");
  const loose: fc.Arbitrary<Event> = fc.oneof(
    fc.tuple(words, small).map(([said, choice]) => text(said, choice)),
    fc.tuple(words, small).map(([said, choice]) => think(said, choice)),
    fc.record({
      type: fc.constantFrom("text-start", "text-break", "text-end", "reasoning-start"),
      choice: small,
    }),
    fc.record({ type: fc.constant("refusal-delta"), choice: small, text: words }),
    fc.record({ type: fc.constant("text-note"), choice: small, annotation: fc.constant(1) }),
    fc.record({
      type: fc.constant("reasoning-end"),
      choice: small,
      encrypted: fc.constantFrom(undefined, "x"),
    }),
    fc
      .tuple(small, fc.constantFrom("function", "custom"), small)
      .map(([number, kind, choice]) => call(number, kind, choice)),
    fc.tuple(small, words, small).map(([number, said, choice]) => input(number, said, choice)),
    fc.record({
      type: fc.constant("call-end"),
      choice: small,
      call: small,
      complete: fc.boolean(),
    }),
    fc.record({
      type: fc.constantFrom("item-start", "item-note", "item-end"),
      choice: small,
      item: small,
      dialect: fc.constant("responses"),
      raw: fc.constant({}),
    }),
    fc
      .tuple(fc.constantFrom<StopReason>("end", "calls", "length", "filter"), small)
      .map(([reason, choice]) => stop(reason, choice)),
    fc.constantFrom(usage, frame, start, fail, cut),
    fc
      .tuple(fc.constantFrom<VendorExtra["of"]>("message", "reasoning"), small)
      .map(([of, choice]): Event => ({ type: "vendor-extra", choice, of, extra })),
  );
  const streams = fc.array(loose, { maxLength: 40, size: "max" });

  it("makes any events lawful", () => {
    fc.assert(
      fc.property(streams, fc.integer({ min: 1, max: 3 }), (events, asked) => {
        expect(broken(run(events, asked))).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });

  it("fails exactly where the upstream says so, or a cut or the end finds a choice unfinished", () => {
    fc.assert(
      fc.property(streams, (events) => {
        const seen = new Set<number>();
        const stopped = new Set<number>();
        let spoiled = false;
        for (const event of events) {
          if (event.type === "turn-fail")
            spoiled ||= event === fail || seen.size === 0 || stopped.size < seen.size;
          if (spoiled) break;
          if ("choice" in event) seen.add(event.choice);
          if (event.type === "turn-end") stopped.add(event.choice);
        }
        spoiled ||= seen.size === 0 || stopped.size < seen.size;
        const said = run(events);
        expect(said.some(({ type }) => type === "turn-fail")).toBe(spoiled);
      }),
      { numRuns: 1000 },
    );
  });

  it("keeps every word, in order, up to a failure", () => {
    const spoken = ({ type }: Event): boolean =>
      type === "text-delta" || type === "reasoning-delta" || type === "usage";
    fc.assert(
      fc.property(streams, (events) => {
        const said = run(events);
        const failedAt = said.some(({ type }) => type === "turn-fail");
        const given = events.filter((event) => spoken(event) && !("text" in event && !event.text));
        const kept = said.filter(spoken);
        expect(kept).toEqual(failedAt ? given.slice(0, kept.length) : given);
      }),
      { numRuns: 1000 },
    );
  });
});
