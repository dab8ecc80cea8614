import { expect, it } from "vitest";
import { keepAlive } from "./keep-alive.ts";

it("writes when nothing was said for ten seconds of a hidden round, and not otherwise", () => {
  let now = 0;
  let isHidden = false;
  let written = 0;
  const stage = keepAlive<string>(
    { now: () => now },
    () => isHidden,
    () => written++,
  );
  const emitted: string[] = [];
  expect(stage.due?.()).toBeUndefined();
  isHidden = true;
  expect(stage.due?.()).toBe(10_000);
  now = 4_000;
  stage.each("said", (event) => emitted.push(event));
  expect(stage.due?.()).toBe(14_000);
  stage.lapse?.(14_000, () => {});
  expect([emitted, written, stage.due?.()]).toEqual([["said"], 1, 24_000]);
});
