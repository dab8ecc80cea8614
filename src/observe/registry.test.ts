import { describe, expect, it } from "vitest";
import { createRegistry } from "./registry.ts";

describe("the registry", () => {
  it("counts by labels", () => {
    const registry = createRegistry();
    const turns = registry.counter("turns_total", "Turns.", ["door", "outcome"]);
    turns.add(1, "chat", "completed");
    turns.add(2, "chat", "failed");
    turns.add(1, "chat", "completed");
    expect(registry.text()).toBe(
      [
        "# HELP turns_total Turns.",
        "# TYPE turns_total counter",
        'turns_total{door="chat",outcome="completed"} 2',
        'turns_total{door="chat",outcome="failed"} 2',
        "",
      ].join("\n"),
    );
  });

  it("shows a gauge that nobody has moved", () => {
    const registry = createRegistry();
    registry.gauge("running", "Under way.");
    expect(registry.text()).toContain("\nrunning 0\n");
  });

  it("counts a value in its bucket and in all larger ones", () => {
    const registry = createRegistry();
    const seconds = registry.histogram("seconds", "Time.", ["door"], [0.1, 1]);
    for (const value of [0.1, 0.5, 7]) seconds.observe(value, "chat");
    expect(registry.text().split("\n").slice(2)).toEqual([
      'seconds_bucket{door="chat",le="0.1"} 1',
      'seconds_bucket{door="chat",le="1"} 2',
      'seconds_bucket{door="chat",le="+Inf"} 3',
      'seconds_sum{door="chat"} 7.6',
      'seconds_count{door="chat"} 3',
      "",
    ]);
  });

  it("escapes what would end a label", () => {
    const registry = createRegistry();
    registry.counter("odd_total", "Odd.", ["name"]).add(1, 'a"b\\c\nd');
    expect(registry.text()).toContain('odd_total{name="a\\"b\\\\c\\nd"} 1');
  });
});
