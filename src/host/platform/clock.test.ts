import { describe, expect, it, onTestFinished, vi } from "vitest";
import { until } from "../../turn/clock.ts";
import { systemClock } from "./clock.ts";

describe("the system's clock", () => {
  it("calls at a moment, at once if it has passed", async () => {
    await new Promise<void>((resolve) => systemClock.at(systemClock.now() - 5, resolve));
    const from = systemClock.now();
    await new Promise<void>((resolve) => systemClock.at(from + 5, resolve));
    expect(systemClock.now()).toBeGreaterThanOrEqual(from + 4);
  });

  it("waits no longer where the date is set back meanwhile", async () => {
    const from = systemClock.now();
    const waiting = until(systemClock, () => false, from + 30);
    const date = vi.spyOn(Date, "now").mockReturnValue(from - 3_600_000);
    onTestFinished(() => date.mockRestore());
    await waiting;
    await new Promise<void>((resolve) => systemClock.at(systemClock.now() + 5, resolve));
    expect(systemClock.now()).toBeGreaterThanOrEqual(from + 30);
    expect(systemClock.date()).toBe(from - 3_600_000);
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
