import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stillClock } from "../../test/support/still-clock.ts";
import type { TurnEvent } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import type { UpstreamName } from "../turn/names.ts";
import type { Flow } from "../stream/flow.ts";
import { Retries, retryAfterOf, type Failure } from "./retry.ts";

const fault = new Fault("upstream.failed", "no");

/** Attempts that fail as often as there are failures; then one speaks. */
function flaky(failures: Failure[], seen: string[] = []) {
  return (turn: Retries): Flow => {
    const failure = failures.shift();
    seen.push("try");
    queueMicrotask(() => {
      if (failure) return turn.failed(failure);
      turn.sink.each({ type: "text-delta", choice: 0, text: "hello" });
      turn.sink.end();
    });
    return {
      pause: () => void seen.push("pause"),
      resume: () => void seen.push("resume"),
      stop: () => void seen.push("stop"),
    };
  };
}

function run(attempt: (turn: Retries) => Flow, retries: number, random = (): number => 1) {
  const clock = stillClock();
  const said: string[] = [];
  class Tried extends Retries {
    protected attempt(): Flow {
      return attempt(this);
    }
  }
  const sink = {
    each: (event: TurnEvent<UpstreamName>) =>
      void said.push(
        event.type === "turn-fail"
          ? `failed: ${event.fault.message}`
          : "text" in event
            ? event.text
            : "",
      ),
    flush() {},
    end: () => void said.push("end"),
  };
  const flow = new Tried(sink, { retries, clock, random }).begin();
  return { clock, said, flow };
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("trying again", () => {
  it("doubles the longest wait each time", async () => {
    const seen: string[] = [];
    const { clock, said } = run(flaky([again(), again(), again()], seen), 3);
    for (const wait of [500, 1_000, 2_000]) {
      await settled();
      clock.move(wait - 1);
      const before = seen.length;
      clock.move(1);
      expect(seen.length).toBe(before + 1);
    }
    await settled();
    expect(said).toEqual(["hello", "end"]);
  });

  it("draws each wait between nothing and its longest", async () => {
    await fc.assert(
      fc.asyncProperty(fc.double({ min: 0, max: 0.999, noNaN: true }), async (chance) => {
        const seen: string[] = [];
        const { clock } = run(flaky([again()], seen), 1, () => chance);
        await settled();
        clock.move(Math.round(chance * 500));
        expect(seen).toEqual(["try", "try"]);
      }),
    );
  });

  it("ends after the last try with the last fault", async () => {
    const { clock, said } = run(flaky([again(), again(), again()]), 2);
    await settled();
    clock.move(500);
    await settled();
    clock.move(1_000);
    await settled();
    expect(said).toEqual(["failed: no", "end"]);
    expect(clock.waiting()).toBe(0);
  });

  it("does not try again what cannot get better, or what asks for too long a wait", async () => {
    const wrong = run(flaky([{ fault, again: false }]), 2);
    const later = run(flaky([{ fault, again: true, after: 20_001 }]), 2);
    await settled();
    expect([wrong.said, later.said]).toEqual([
      ["failed: no", "end"],
      ["failed: no", "end"],
    ]);
  });

  it("stays paused over a new try", async () => {
    const seen: string[] = [];
    const { clock, flow } = run(flaky([again()], seen), 1);
    await settled();
    flow.pause();
    clock.move(500);
    expect(seen).toEqual(["try", "pause", "try", "pause"]);
  });

  it("never begins again once stopped", async () => {
    const seen: string[] = [];
    const { clock, flow, said } = run(flaky([again()], seen), 1);
    await settled();
    flow.stop();
    clock.move(60_000);
    await settled();
    expect(seen).toEqual(["try", "stop"]);
    expect(said).toEqual([]);
  });
});

function again(): Failure {
  return { fault, again: true };
}

describe("the wait an upstream asks for", () => {
  it.each([
    [{ "retry-after": "2" }, 2_000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
    [{ "retry-after": "Thu, 01 Jan 1970 00:00:07 GMT" }, 6_000],
    [{ "retry-after": "Wed, 31 Dec 1969 00:00:00 GMT" }, 0],
    [{ "retry-after": "Thursday, 01-Jan-70 00:00:07 GMT" }, 6_000],
    [{ "retry-after": "Thu Jan  1 00:00:07 1970 GMT" }, 6_000],
    [{ "retry-after": "1970-01-01T00:00:07Z" }, 6_000],
    [{ "retry-after": "5s" }, 5_000],
    [{ "retry-after": "9".repeat(30) }, 31_536_000_000],
    [{ "retry-after-ms": "1e999" }, 31_536_000_000],
    [{ "retry-after-ms": "-1", "retry-after": "-5" }, undefined],
    [{ "retry-after": "12-5" }, undefined],
    [{ "retry-after": "" }, undefined],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": ["3", "4"] }, 3_000],
    [{}, undefined],
  ])("is read from %j", (headers, wait) => {
    expect(retryAfterOf(headers, 1_000)).toBe(wait);
  });
});
