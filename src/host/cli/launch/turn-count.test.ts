import { expect, it } from "vitest";
import type { Happening, TurnDone } from "../../../telemetry/happening.ts";
import { countLine, countTurns } from "./turn-count.ts";

const turn = (more: Partial<TurnDone>): Happening =>
  ({ type: "turn", calls: { given: 0 }, ...more }) as TurnDone;

it("adds up turns, calls and tokens, and says how often what went wrong", () => {
  const { report, count } = countTurns();
  const usage = { input: 1200, output: 5, total: 1205 };
  const calls = { given: 2, withheld: 0, repeated: 0, truncated: false, stopped: false };
  report(turn({ usage, calls }));
  report(turn({ usage, fault: "upstream.auth" }));
  report(turn({ fault: "upstream.auth" }));
  report({
    type: "refusal",
    at: 0,
    requestId: "r",
    route: "",
    status: 404,
    fault: "request.invalid",
  });
  report({ type: "reload", ok: true, problems: [] });
  expect(countLine(count())).toBe(
    "3 turns, 2 tool calls, 2,400 tokens in, 10 out, 2x upstream.auth, 1x request.invalid",
  );
});

it("has no count of tokens where nobody counted", () => {
  const { report, count } = countTurns();
  report(turn({}));
  expect(countLine(count())).toBe("1 turn, 0 tool calls");
});
