import { describe, expect, it } from "vitest";
import { systemClock } from "./clock.ts";

describe("the system's clock", () => {
  it("calls at a moment, at once if it has passed", async () => {
    await new Promise<void>((resolve) => systemClock.at(systemClock.now() - 5, resolve));
    const from = systemClock.now();
    await new Promise<void>((resolve) => systemClock.at(from + 5, resolve));
    expect(systemClock.now()).toBeGreaterThanOrEqual(from + 4);
  });

  it("does not call when called off, nor at once for a moment far away", async () => {
    const called: string[] = [];
    systemClock.at(0, () => called.push("off"))();
    const callOff = systemClock.at(systemClock.now() + 1e11, () => called.push("far"));
    await new Promise<void>((resolve) => systemClock.at(systemClock.now() + 5, resolve));
    callOff();
    expect(called).toEqual([]);
  });
});
