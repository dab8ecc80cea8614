import { expect, it } from "vitest";
import { createBus } from "./bus.ts";
import type { Happening } from "./happening.ts";

const happening: Happening = { type: "reload", ok: true, problems: [] };

it("tells everybody who follows, until they leave", () => {
  const bus = createBus();
  const heard: string[] = [];
  const leave = bus.subscribe(() => heard.push("first"));
  bus.subscribe(() => heard.push("second"));
  bus.report(happening);
  leave();
  bus.report(happening);
  expect(heard).toEqual(["first", "second", "second"]);
});

it("lets no listener keep a happening from the others, nor from the turn", () => {
  const bus = createBus();
  const heard: Happening[] = [];
  bus.subscribe(() => {
    throw new Error("a listener of somebody's");
  });
  bus.subscribe((one) => heard.push(one));
  expect(() => bus.report(happening)).not.toThrow();
  expect(heard).toEqual([happening]);
});
