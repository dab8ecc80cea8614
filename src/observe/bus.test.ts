import { expect, it } from "vitest";
import { Bus } from "./bus.ts";
import type { Happening } from "./happening.ts";

const happening: Happening = { type: "reload", ok: true, problems: [] };

it("tells everybody who follows, until they leave", () => {
  const bus = new Bus();
  const heard: string[] = [];
  const leave = bus.subscribe(() => heard.push("first"));
  bus.subscribe(() => heard.push("second"));
  bus.report(happening);
  leave();
  bus.report(happening);
  expect(heard).toEqual(["first", "second", "second"]);
});

it("lets no listener keep a happening from the others, nor from the turn", () => {
  const bus = new Bus();
  const heard: Happening[] = [];
  bus.subscribe(() => {
    throw new Error("a listener fails");
  });
  bus.subscribe((one) => heard.push(one));
  expect(() => bus.report(happening)).not.toThrow();
  expect(heard).toEqual([happening]);
});

it("tells a listener only of the types that it needs", () => {
  const bus = new Bus();
  const heard: string[] = [];
  const hear = ({ type }: Happening): void => void heard.push(type);
  bus.subscribe(Object.assign(hear, { types: ["reload"] as const }));
  bus.report({ type: "store", event: "late" });
  bus.report(happening);
  expect(heard).toEqual(["reload"]);
  expect(bus.listeners.has("begun")).toBe(false);
});
