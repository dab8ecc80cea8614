import { expect, it } from "vitest";
import { nodeProblem } from "./output.ts";

it("takes the Node that the package asks for, and newer ones", () => {
  expect(nodeProblem("24.0.0", ">=24")).toBeUndefined();
  expect(nodeProblem("126.1.0", ">=24")).toBeUndefined();
});

it("says of an older one what to do", () => {
  expect(nodeProblem("20.20.2", ">=24")).toBe(
    "Patchbay needs Node 24 or newer, and this is 20.20.2; install a newer one, from https://nodejs.org for example.",
  );
});
