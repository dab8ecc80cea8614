import { expect, it } from "vitest";
import { batchSchema } from "../../src/observe/console/wire.ts";
import { turnRow } from "../../src/gateway/run/prices.ts";
import type { RecentTurn } from "../../src/observe/recent-turns.ts";
import { turnDone } from "../../test/support/turn-done.ts";
import { countLine, countTurns } from "./launch.ts";

/** Turns as they come over the wire. */
const batch = (turns: readonly RecentTurn[], price?: { input: number; output: number }) =>
  batchSchema.parse({
    last: turns.length,
    lost: 0,
    turns: turns.map((turn) => turnRow(turn, () => price)),
    running: [],
  });

const none = { given: 0, withheld: 0, repeated: 0, truncated: false, stopped: false };
const quiet = { calls: none, usage: undefined };

it("adds up turns, calls and tokens, and says how often what went wrong", () => {
  const usage = { input: 1200, output: 5, total: 1205 };
  const turns: RecentTurn[] = [
    turnDone({ usage, calls: { ...none, given: 2 } }),
    turnDone({ usage, calls: none, fault: "upstream.auth" }),
    turnDone({ ...quiet, fault: "upstream.auth" }),
    { type: "refusal", at: 0, requestId: "r", route: "", status: 404, fault: "request.invalid" },
  ];
  expect(countLine(countTurns(batch(turns)))).toBe(
    "3 turns, 2 tool calls, 2400 tokens in, 10 out, 2x upstream.auth, 1x request.invalid",
  );
});

it("has no count of tokens where nobody counted", () => {
  expect(countLine(countTurns(batch([turnDone(quiet)])))).toBe("1 turn, 0 tool calls");
});

it("tells what it cost where the price is known", () => {
  const usage = { input: 1000, output: 100, total: 1100 };
  const told = batch([turnDone({ usage, calls: none })], { input: 1, output: 10 });
  expect(countLine(countTurns(told))).toContain("$0.0020");
});

it("counts turns that were gone before they were asked for", () => {
  expect(countTurns({ ...batch([]), lost: 7 }).turns).toBe(7);
});

it("counts a turn that runs when the agent has been ended", () => {
  const running = [{ requestId: "r" }] as unknown as ReturnType<typeof batch>["running"];
  expect(countTurns({ ...batch([]), running }).turns).toBe(1);
});
