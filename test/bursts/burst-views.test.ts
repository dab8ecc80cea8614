import * as fc from "fast-check";
import { expect, it } from "vitest";
import { canonicalJson } from "../../src/stream/calls/dedup.ts";
import { eventLines, usageLine } from "../../src/observe/lines.ts";
import { readUseTool, writeUseTool } from "../../src/tools/text-calls/use-tool.ts";
import {
  anyBurstCase,
  type BurstCase,
  type Call,
  callsShown,
  runBurstCase,
  schema,
  type ShownCall,
} from "../support/burst-cases.ts";
import type { StillAnswer } from "../support/still-gateway.ts";
import { loggedFields } from "../support/turn-done.ts";

const stops = ({ rules }: BurstCase): boolean =>
  rules.stop_after || rules.stop_after_mode === "first";

/** The calls a choice is given, worked out one by one, and where the last of them stands. */
function expectedCalls(scene: BurstCase, choice: number): { calls: Call[]; last: number } {
  const { steps, rules, made } = scene;
  const calls: Call[] = [];
  const known = new Set<string>();
  let [now, due, seen, last] = [0, Infinity, 0, -1];
  for (const [at, { after, choice: whose, thing }] of steps.entries()) {
    now += after;
    if (whose !== choice || thing.say !== "call") continue;
    const isFirstOnly = rules.stop_after_mode === "first" && seen > 0;
    if (now > due || isFirstOnly) break;
    seen++;
    if (stops(scene)) due = now + rules.stop_after_grace_ms;
    const { name } = thing;
    const block = writeUseTool(name, thing.input, schema);
    const read = made === "text" ? readUseTool(block, () => ({ schema })) : undefined;
    const input = read?.input ?? thing.input;
    const key = `${name} ${canonicalJson(input)}`;
    if (rules.block_dedup && known.has(key)) continue;
    known.add(key);
    if (rules.block_max > 0 && calls.length === rules.block_max) continue;
    calls.push({ name, input });
    last = at;
  }
  return { calls, last };
}

/** The text of a choice that is not stopped, and of which no call is shown twice. */
function expectedText(scene: BurstCase, choice: number): string {
  const { last } = expectedCalls(scene, choice);
  const isTail = (at: number): boolean => scene.rules.suppress_tail && last !== -1 && at > last;
  return scene.steps
    .map(({ choice: whose, thing }, at) =>
      whose === choice && thing.say === "text" && !isTail(at) ? thing.words : "",
    )
    .join("");
}

/** What is known of a choice beforehand. */
function expectedChoice(scene: BurstCase, choice: number): Partial<ShownCall> {
  const { door, stream, ending, made, rules } = scene;
  const { calls } = expectedCalls(scene, choice);
  // The call that the limit fell upon may not be whole, and is not given then.
  const isHalf = ending === "length" && made === "frames";
  const isCalling = calls.length > 0 && ending === "end";
  const isAlone = rules.output === "openai-json" && door === "chat" && !stream;
  const isPlain = rules.output !== "obsidian-xml" && made !== "text" && !stops(scene);
  return {
    ...(!isHalf && { calls }),
    ...(isCalling && { finish: door === "chat" ? "tool_calls" : "completed" }),
    ...(isCalling && isAlone && { text: null }),
    ...(isCalling && isPlain && !isAlone && { text: expectedText(scene, choice) || null }),
  };
}

const sumOf = (metrics: string, name: string): number =>
  [...metrics.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );

/** The figures as the client is told them, if it is. */
function figuresTold({ text, headers }: StillAnswer): unknown {
  const count = headers["x-codex-tool-call-count"];
  const comments = [...text.matchAll(/^: (\{.*\})$/gm)].map(([, json = ""]) => JSON.parse(json));
  if (count === undefined) return comments;
  return [
    ...comments,
    {
      tool_call_count: Number(count),
      tool_call_truncated: headers["x-codex-tool-call-truncated"] === "true",
      stop_after_tools_mode: headers["x-codex-stop-after-tools-mode"],
    },
  ];
}

/** Holds every view of a turn to one count. */
function viewsAgree(scene: BurstCase, told: StillAnswer, given: number): void {
  const { n, stream, rules } = scene;
  const { turn, metrics } = told;
  const { truncated, withheld, repeated } = turn.calls;
  const totals = { tool_call_count_total: given, tool_call_truncated_total: truncated ? 1 : 0 };
  const figures = {
    ...totals,
    stop_after_tools_mode: rules.stop_after_mode,
    stop_after_tools_enabled: stops(scene),
    tool_block_max: rules.block_max,
    suppress_tail_after_tools: rules.suppress_tail,
  };
  const more = { tool_calls_withheld: withheld, tool_calls_repeated: repeated };
  expect(usageLine(turn)).toMatchObject({
    ...figures,
    ...more,
    has_tool_calls: given > 0,
    choice_count: n,
    output_mode: rules.output ?? null,
  });
  const [summary] = eventLines(turn, 0);
  expect(summary).toMatchObject({ ...figures, ...more });
  const byChoice = summary?.["tool_calls_by_choice"] as readonly number[];
  expect([byChoice.length, byChoice.reduce((a, b) => a + b, 0)]).toEqual([n, given]);
  expect(loggedFields(turn)).toMatchObject({ ...figures, withheld, repeated });
  expect(told.usage).toMatchObject({ ...totals, total_requests: 1 });
  expect({
    calls: sumOf(metrics, "tool_call_count_total"),
    truncated: sumOf(metrics, "tool_call_truncated_total"),
    withheld: sumOf(metrics, "patchbay_tool_calls_withheld_total"),
    repeated: sumOf(metrics, "patchbay_tool_calls_repeated_total"),
    perTurn: sumOf(metrics, "patchbay_tool_calls_per_turn_sum"),
    turns: sumOf(metrics, "patchbay_turns_total"),
    running: sumOf(metrics, "patchbay_turns_running"),
  }).toEqual({
    calls: given,
    truncated: truncated ? 1 : 0,
    withheld,
    repeated,
    perTurn: given,
    turns: 1,
    running: 0,
  });
  const isTold = turn.outcome !== "left" && told.status === 200;
  expect(figuresTold(told)).toEqual(
    isTold && (!stream || given > 0 || truncated)
      ? [
          {
            tool_call_count: given,
            tool_call_truncated: truncated,
            stop_after_tools_mode: rules.stop_after_mode,
          },
        ]
      : [],
  );
}

it("is the same in every view, and what a plain count says, whatever a model does", async () => {
  await fc.assert(
    fc.asyncProperty(anyBurstCase, async (scene) => {
      const told = await runBurstCase(scene);
      const { calls, outcome } = told.turn;
      if (outcome === "failed" || outcome === "left")
        return viewsAgree(scene, told, scene.stream ? calls.given : 0);
      const choices = callsShown(scene, told);
      const complete = choices.reduce((sum, choice) => sum + choice.calls.length, 0);
      const isCutShort = scene.ending === "length";
      viewsAgree(scene, told, isCutShort ? calls.given : complete);
      expect(calls.given).toBeLessThanOrEqual(complete);
      expect(calls.truncated || calls.withheld === 0).toBe(true);
      const all = scene.steps.filter(({ thing }) => thing.say === "call").length;
      const isSeen = !isCutShort && !stops(scene);
      expect(isSeen ? complete + calls.repeated + calls.withheld : all).toBe(all);
      expect(choices.map((choice) => ({ ...choice, text: choice.text || null }))).toMatchObject(
        choices.map((_, at) => expectedChoice(scene, at)),
      );
      const blocks = choices.flatMap(({ text, calls: made }) =>
        made.filter(({ name, input }) => text?.includes(writeUseTool(name, input, schema))),
      );
      const isShown = scene.rules.output === "obsidian-xml" && !isCutShort;
      expect(isShown ? blocks.length : complete).toBe(complete);
    }),
    { numRuns: 300 },
  );
}, 60_000);
