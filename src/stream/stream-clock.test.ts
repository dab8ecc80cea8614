import { describe, expect, it } from "vitest";
import { stillClock } from "../../test/support/still-clock.ts";
import { StreamClock } from "./stream-clock.ts";

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
