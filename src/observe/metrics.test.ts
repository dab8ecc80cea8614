import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { turnDone } from "../../test/support/turn-done.ts";
import { Metrics } from "./metrics.ts";

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;

function heard() {
  const metrics = new Metrics();
  const rules = { ...turnDone().rules, max: 2, stopMode: "first" as const };
  metrics.count(turnDone());
  metrics.count(
    turnDone({
      rules,
      calls: { given: 2, withheld: 2, repeated: 1, truncated: true, stopped: true },
      callsByChoice: [2],
    }),
  );
  metrics.count(turnDone({ outcome: "failed", status: 502, fault: "upstream.cut" }));
  metrics.count({
    type: "refusal",
    at: 0,
    requestId: "r",
    route: "/v1/x",
    status: 404,
    fault: "request.route",
  });
  metrics.tools([{ count: 1, verdict: "native", kind: "function" }]);
  metrics.running.amount++;
  return metrics;
}

describe("the metrics", () => {
  it("have every outcome from the first turn on, for a rate tells nothing of a number that was not there", () => {
    const metrics = new Metrics();
    metrics.count(turnDone());
    expect(metrics.text().match(/^patchbay_turns_total.*/gm)).toEqual(
      [
        ["completed", 1],
        ["incomplete", 0],
        ["failed", 0],
        ["left", 0],
      ].map(
        ([outcome, turns]) =>
          `patchbay_turns_total{door="chat",upstream="demo",outcome="${outcome}"} ${turns}`,
      ),
    );
  });

  it("count calls and cut turns by door, upstream and mode", () => {
    const text = heard().text();
    for (const line of [
      'tool_call_count_total{door="chat",upstream="demo",stop_after_tools_mode="burst"} 8',
      'tool_call_count_total{door="chat",upstream="demo",stop_after_tools_mode="first"} 2',
      'tool_call_truncated_total{door="chat",upstream="demo",stop_after_tools_mode="burst"} 0',
      'tool_call_truncated_total{door="chat",upstream="demo",stop_after_tools_mode="first"} 1',
      'patchbay_tool_calls_withheld_total{door="chat",upstream="demo"} 2',
      'patchbay_tool_calls_repeated_total{door="chat",upstream="demo"} 1',
      'patchbay_tool_calls_per_turn_bucket{door="chat",upstream="demo",le="2"} 1',
      'patchbay_tool_calls_per_turn_bucket{door="chat",upstream="demo",le="4"} 3',
      'patchbay_turns_total{door="chat",upstream="demo",outcome="failed"} 1',
    ])
      expect(text.split("\n")).toContain(line);
  });

  it("have no room for a client's words", () => {
    const metrics = new Metrics();
    metrics.count(turnDone({ model: "a-clients-word", upstream: "demo/another-word" }));
    expect(metrics.text()).not.toContain("word");
  });

  it.skipIf(!hasPromtool)("are as Prometheus's own tool wants them", () => {
    const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], {
      input: heard().text(),
      encoding: "utf8",
    });
    expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: "" });
  });
});
