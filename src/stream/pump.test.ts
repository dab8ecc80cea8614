import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stillClock } from "../../test/support/still-clock.ts";
import type { Flow, Sink, Source } from "./flow.ts";
import { pump, StreamClock } from "./pump.ts";
import type { Stage } from "./stage.ts";

/** A source in a test's hand. */
function hand<T>(): { source: Source<T>; sink: () => Sink<T>; did: string[] } {
  const did: string[] = [];
  let given: Sink<T> | undefined;
  return {
    did,
    source(sink) {
      given = sink;
      return {
        pause: () => void did.push("pause"),
        resume: () => void did.push("resume"),
        stop: () => void did.push("stop"),
      };
    },
    sink() {
      if (given === undefined) throw new Error("not started");
      return given;
    },
  };
}

/** A sink that writes down what it hears, and does as told on the way. */
function ear(on: (heard: string) => void = () => {}): { sink: Sink<string>; heard: string[] } {
  const heard: string[] = [];
  const hear = (what: string): void => {
    heard.push(what);
    on(what);
  };
  return {
    heard,
    sink: { each: hear, flush: () => hear("(flush)"), end: () => hear("(end)") },
  };
}

const plain: Stage<string, string> = { each: (event, emit) => emit(event) };
const lastWord: Stage<string, string> = { ...plain, end: (emit) => emit("last") };
/** Done after so many. */
const upTo = (most: number): Stage<string, string> => {
  let count = 0;
  return {
    each(event, emit) {
      if (count++ < most) emit(event);
    },
    end: (emit) => emit("last"),
    done: () => count >= most,
  };
};
/** Speaks up after silence, so many times. */
const impatient = (clock: { now(): number }, times: number): Stage<string, string> => {
  let due: number | undefined;
  let left = times;
  return {
    each(event, emit) {
      due = clock.now() + 100;
      emit(event);
    },
    due: () => due,
    lapse(moment, emit) {
      emit(`silence at ${moment}`);
      due = --left > 0 ? moment + 100 : undefined;
    },
  };
};

describe("pump", () => {
  it("drives events through the stage, flushes with the source, and ends once", () => {
    const { source, sink } = hand<string>();
    const { sink: out, heard } = ear();
    pump(source, lastWord, out, stillClock());
    sink().each("a");
    sink().each("b");
    sink().flush();
    sink().end();
    sink().end();
    sink().each("late");
    sink().flush();
    expect(heard).toEqual(["a", "b", "(flush)", "last", "(flush)", "(end)"]);
  });

  it("passes pause and resume on", () => {
    const { source, did } = hand<string>();
    const flow = pump(source, plain, ear().sink, stillClock());
    flow.pause();
    flow.resume();
    expect(did).toEqual(["pause", "resume"]);
  });

  it("stops the source once when the stage is done, and lets the stage end", () => {
    const { source, sink, did } = hand<string>();
    const { sink: out, heard } = ear();
    const flow = pump(source, upTo(1), out, stillClock());
    sink().each("a");
    sink().each("b");
    sink().flush();
    sink().each("c");
    sink().flush();
    sink().end();
    flow.stop();
    expect(heard).toEqual(["a", "(flush)", "last", "(flush)", "(end)"]);
    expect(did).toEqual(["stop"]);
  });

  it("says nothing once stopped, not even the end", () => {
    const { source, sink, did } = hand<string>();
    const { sink: out, heard } = ear();
    const flow = pump(source, lastWord, out, stillClock());
    sink().each("a");
    flow.stop();
    flow.stop();
    sink().each("b");
    sink().flush();
    sink().end();
    expect(heard).toEqual(["a"]);
    expect(did).toEqual(["stop"]);
  });

  it("leaves the source alone when stopped after its end", () => {
    const { source, sink, did } = hand<string>();
    const flow = pump(source, plain, ear().sink, stillClock());
    sink().end();
    flow.stop();
    expect(did).toEqual([]);
  });

  it.each(["a", "(flush)", "last"])("may be stopped by the sink at %s", (at) => {
    const clock = stillClock();
    const { source, sink, did } = hand<string>();
    const { sink: out, heard } = ear((what) => void (what === at && flow.stop()));
    const stage: Stage<string, string> = {
      each(event, emit) {
        emit(event);
        emit("more");
      },
      end(emit) {
        emit("last");
        emit("more");
      },
      due: () => 10,
    };
    const flow: Flow = pump(source, stage, out, clock);
    sink().each("a");
    sink().flush();
    sink().end();
    expect(heard.at(-1)).toBe(at);
    expect(heard.filter((what) => what === at)).toHaveLength(1);
    expect(did).toEqual(at === "last" ? [] : ["stop"]);
    expect(clock.waiting()).toBe(0);
  });

  it("bears a source that ends while it is being resumed", () => {
    const { sink: out, heard } = ear();
    const source: Source<string> = (sink) => ({
      pause() {},
      resume() {
        sink.each("a");
        sink.flush();
        sink.end();
      },
      stop: () => expect.unreachable(),
    });
    pump(source, plain, out, stillClock()).resume();
    expect(heard).toEqual(["a", "(flush)", "(flush)", "(end)"]);
  });

  describe("with a clock", () => {
    it("wakes the stage at its moment, and again if it names another", () => {
      const clock = stillClock();
      const { source, sink } = hand<string>();
      const { sink: out, heard } = ear();
      pump(source, impatient(clock, 2), out, clock);
      sink().each("a");
      sink().flush();
      clock.move(99);
      expect(heard).toEqual(["a", "(flush)"]);
      clock.move(1);
      expect(heard.slice(2)).toEqual(["silence at 100", "(flush)"]);
      clock.move(1000);
      expect(heard.slice(4)).toEqual(["silence at 200", "(flush)"]);
      expect(clock.waiting()).toBe(0);
    });

    it("puts the moment off when more comes", () => {
      const clock = stillClock();
      const { source, sink } = hand<string>();
      const { sink: out, heard } = ear();
      pump(source, impatient(clock, 1), out, clock);
      for (let at = 0; at < 5; at++) {
        sink().each("a");
        sink().flush();
        expect(clock.waiting()).toBe(1);
        clock.move(60);
      }
      expect(heard).not.toContain("silence at 100");
      clock.move(40);
      expect(heard.slice(-2)).toEqual(["silence at 340", "(flush)"]);
    });

    it("ends the turn when the stage is done by waiting", () => {
      const clock = stillClock();
      const { source, sink, did } = hand<string>();
      const { sink: out, heard } = ear();
      let done = false;
      const stage: Stage<string, string> = {
        ...lastWord,
        due: () => 5,
        lapse: () => void (done = true),
        done: () => done,
      };
      pump(source, stage, out, clock);
      sink().flush();
      clock.move(5);
      expect(heard).toEqual(["(flush)", "(flush)", "last", "(flush)", "(end)"]);
      expect(did).toEqual(["stop"]);
      expect(clock.waiting()).toBe(0);
    });

    it.each(["stop", "end"] as const)("waits for nothing after %s", (how) => {
      const clock = stillClock();
      const { source, sink } = hand<string>();
      const { sink: out, heard } = ear();
      const flow = pump(source, impatient(clock, 1), out, clock);
      sink().each("a");
      sink().flush();
      if (how === "stop") flow.stop();
      else sink().end();
      expect(clock.waiting()).toBe(0);
      const before = heard.length;
      clock.move(1000);
      expect(heard).toHaveLength(before);
    });

    it("may be stopped by what a lapse says", () => {
      const clock = stillClock();
      const { source, sink, did } = hand<string>();
      const { sink: out, heard } = ear((what) => void (what.startsWith("silence") && flow.stop()));
      const flow: Flow = pump(source, impatient(clock, 3), out, clock);
      sink().each("a");
      sink().flush();
      clock.move(1000);
      expect(heard).toEqual(["a", "(flush)", "silence at 100"]);
      expect(did).toEqual(["stop"]);
      expect(clock.waiting()).toBe(0);
    });
  });

  it("keeps its word whatever happens in whatever order", () => {
    const step = fc.constantFrom("each", "flush", "end", "move", "stop", "stop at next");
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), fc.nat({ max: 5 }), (steps, most) => {
        const clock = stillClock();
        const { source, sink, did } = hand<string>();
        let stopNext = false;
        let stopped = false;
        const stop = (): void => {
          stopped = true;
          flow.stop();
        };
        const { sink: out, heard } = ear((what) => {
          if (what === "(end)") return;
          if (stopNext) stop();
          stopNext = false;
        });
        const counting = upTo(most + 1);
        const stage: Stage<string, string> = { ...impatient(clock, 2), ...counting };
        const flow: Flow = pump(source, stage, out, clock);
        let quiet: number | undefined;
        for (const what of steps) {
          if (what === "each") sink().each("a");
          if (what === "flush") sink().flush();
          if (what === "end") sink().end();
          if (what === "move") clock.move(70);
          if (what === "stop") stop();
          if (what === "stop at next") stopNext = true;
          if (stopped || heard.at(-1) === "(end)") quiet ??= heard.length;
        }
        expect(heard.length).toBe(quiet ?? heard.length);
        expect(heard.filter((said) => said === "(end)").length).toBeLessThanOrEqual(1);
        expect(did.length).toBeLessThanOrEqual(1);
        expect(quiet === undefined ? 0 : clock.waiting()).toBe(0);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("the clock of a stream", () => {
  it("stands still while it is paused, and so does its alarm", () => {
    const still = stillClock(1000);
    const rung: number[] = [];
    const clock = new StreamClock(still, (moment) => void rung.push(moment));
    clock.wakeAt(1100);
    still.move(50);
    clock.pause();
    clock.pause();
    still.move(500);
    expect([clock.now(), rung]).toEqual([1050, []]);
    clock.resume();
    clock.resume();
    still.move(49);
    expect([clock.now(), rung]).toEqual([1099, []]);
    still.move(1);
    expect([clock.now(), rung]).toEqual([1100, [1100]]);
  });

  it("rings at the moment that was set last, also while it is paused", () => {
    const still = stillClock();
    const rung: number[] = [];
    const clock = new StreamClock(still, (moment) => void rung.push(moment));
    clock.wakeAt(10);
    clock.pause();
    clock.wakeAt(20);
    clock.resume();
    still.move(100);
    expect(rung).toEqual([20]);
    clock.wakeAt(200);
    clock.wakeAt(undefined);
    expect(still.waiting()).toBe(0);
  });
});
