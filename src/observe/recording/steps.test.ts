import { describe, expect, it } from "vitest";
import { finishInSlices, finishSteps, type Steps } from "./steps.ts";

/** Steps of a millisecond each. */
function* working(clock: { now: number }, steps: number): Steps<string> {
  for (let step = 0; step < steps; step++) {
    clock.now += 1;
    yield;
  }
  return "done";
}

describe("work in steps", () => {
  it("lets others work after two milliseconds, and comes to the same", async () => {
    const clock = { now: 0 };
    const pauses: number[] = [];
    const result = await finishInSlices(working(clock, 5), {
      now: () => clock.now,
      pause: async () => void pauses.push(clock.now),
    });
    expect(result).toBe("done");
    expect(pauses).toEqual([2, 4]);
    expect(finishSteps(working(clock, 5))).toBe("done");
  });
});
