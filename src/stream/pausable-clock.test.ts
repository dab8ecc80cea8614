import { expect, it } from "vitest";
import { stillClock } from "../../test/support/still-clock.ts";
import { PausableClock } from "./pausable-clock.ts";

const noCrash = (error: unknown): void => {
  throw error;
};

it("stands still while it is paused, and so do those who wait for a moment", () => {
  const still = stillClock(1000);
  const clock = new PausableClock(still, noCrash);
  const rung: string[] = [];
  clock.at(1100, () => rung.push("before"));
  still.move(50);
  clock.pause();
  clock.pause();
  clock.at(1120, () => rung.push("meanwhile"));
  still.move(500);
  expect([clock.now(), rung]).toEqual([1050, []]);
  clock.resume();
  clock.resume();
  still.move(49);
  expect([clock.now(), rung]).toEqual([1099, []]);
  still.move(21);
  expect([clock.now(), rung]).toEqual([1120, ["before", "meanwhile"]]);
});

it("forgets what is called off, paused or not", () => {
  const still = stillClock();
  const clock = new PausableClock(still, noCrash);
  const callOff = clock.at(10, () => expect.unreachable());
  clock.pause();
  clock.at(20, () => expect.unreachable())();
  callOff();
  clock.resume();
  still.move(100);
  expect(still.waiting()).toBe(0);
});

it("hands over what is thrown at a moment that was waited for", () => {
  const still = stillClock();
  const crashes: unknown[] = [];
  const clock = new PausableClock(still, (error) => crashes.push(error));
  clock.at(10, () => {
    throw new Error("boom");
  });
  still.move(10);
  expect(crashes).toEqual([new Error("boom")]);
});
