import { describe, expect, it } from "vitest";
import { Family } from "./registry.ts";

describe("a family of metrics", () => {
  it("counts by labels", () => {
    const turns = new Family("counter", "Turns.", "door outcome");
    turns.of("chat", "completed").amount++;
    turns.of("chat", "failed").amount += 2;
    turns.of("chat", "completed").amount++;
    expect(turns.text("turns_total")).toBe(
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
    expect(new Family("gauge", "Under way.").text("running")).toContain("\nrunning 0\n");
  });

  it("counts a value in its bucket and in all larger ones", () => {
    const seconds = new Family("histogram", "Time.", "door", [0.1, 1]);
    for (const value of [0.1, 0.5, 7]) seconds.of("chat").observe(value);
    expect(seconds.text("seconds").split("\n").slice(2)).toEqual([
      'seconds_bucket{door="chat",le="0.1"} 1',
      'seconds_bucket{door="chat",le="1"} 2',
      'seconds_bucket{door="chat",le="+Inf"} 3',
      'seconds_sum{door="chat"} 7.6',
      'seconds_count{door="chat"} 3',
      "",
    ]);
  });

  it("escapes what would end a label", () => {
    const odd = new Family("counter", "Odd.", "name");
    odd.of('a"b\\c\nd').amount++;
    expect(odd.text("odd_total")).toContain('odd_total{name="a\\"b\\\\c\\nd"} 1');
  });
});
