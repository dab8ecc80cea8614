import * as fc from "fast-check";
import { expect, it } from "vitest";
import { anyTurnDone, loggedFields } from "../../test/support/turn-done.ts";
import { callComment, callHeaders, figuresOf } from "./figures.ts";
import type { TurnDone } from "./happening.ts";
import { eventLines, usageLine } from "./lines.ts";
import { Metrics } from "./metrics.ts";

type Told = { readonly count: unknown; readonly truncated: unknown; readonly mode: unknown };

/** What each view tells of a turn's calls. */
function views(turn: TurnDone): Record<string, Told> {
  const headers = callHeaders(turn.calls, turn.rules);
  const comment: unknown = JSON.parse(callComment(turn.calls, turn.rules));
  const [summary = {}] = eventLines(turn, 0);
  return {
    header: {
      count: Number(headers["x-codex-tool-call-count"]),
      truncated: headers["x-codex-tool-call-truncated"] === "true",
      mode: headers["x-codex-stop-after-tools-mode"],
    },
    comment: {
      count: (comment as { tool_call_count: unknown }).tool_call_count,
      truncated: (comment as { tool_call_truncated: unknown }).tool_call_truncated,
      mode: (comment as { stop_after_tools_mode: unknown }).stop_after_tools_mode,
    },
    usage: lineTold(usageLine(turn)),
    event: lineTold(summary),
    log: lineTold(loggedFields(turn)),
    metrics: metricsTold(turn),
  };
}

const lineTold = (line: Readonly<Record<string, unknown>>): Told => ({
  count: line.tool_call_count_total,
  truncated: line.tool_call_truncated_total === 1,
  mode: line.stop_after_tools_mode,
});

function metricsTold(turn: TurnDone): Told {
  const metrics = new Metrics();
  metrics.count(turn);
  const text = metrics.text();
  const mode = /tool_call_count_total\{.*stop_after_tools_mode="(\w+)"\}/.exec(text)?.[1];
  const value = (name: string): number =>
    Number(new RegExp(`^${name}\\{.*\\} (\\d+)$`, "m").exec(text)?.[1]);
  const perTurn = value("patchbay_tool_calls_per_turn_sum");
  const count = value("tool_call_count_total");
  expect(perTurn).toBe(count);
  return { count, truncated: value("tool_call_truncated_total") === 1, mode };
}

it("tells the same of a turn's calls in every view", () => {
  fc.assert(
    fc.property(anyTurnDone, (turn) => {
      const { calls, rules } = turn;
      const told = { count: calls.given, truncated: calls.truncated, mode: rules.stopMode };
      for (const view of Object.entries(views(turn))) expect(view).toEqual([view[0], told]);
      for (const line of [usageLine(turn), eventLines(turn, 0)[0], loggedFields(turn)])
        expect(line).toMatchObject(figuresOf(turn));
    }),
  );
});
