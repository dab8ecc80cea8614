import { expect, it } from "vitest";
import { converse, sumOf, wantedCalls } from "./conversation.ts";

const eager = converse(60, "eager");

it.each(["wrap", "native"] as const)(
  "twenty turns with 60 tools take a fifth of the tool bytes by %s, and the prefix stays the same",
  async (strategy) => {
    const folded = await converse(60, strategy);
    expect(folded.calls).toEqual(wantedCalls);
    expect((await eager).calls).toEqual(wantedCalls);
    expect(folded.hiddenRounds).toBe(2);
    expect(folded.isPrefixKept).toBe(true);
    const share = sumOf(folded.sent, "tools") / sumOf((await eager).sent, "tools");
    expect(share).toBeLessThan(0.2);
  },
);

it("the same turns are made by append", async () => {
  const folded = await converse(60, "append");
  expect(folded.calls).toEqual(wantedCalls);
  expect(folded.isPrefixKept).toBe(false);
  expect(sumOf(folded.sent, "tools")).toBeLessThan(sumOf((await eager).sent, "tools") / 2);
});
