import { describe, expect, it } from "vitest";
import { image, summarize, planHistory, thought } from "../../../test/support/conversations.ts";
import { called, message, result, withHistory } from "../../../test/support/turns.ts";

describe("what is said right behind results", () => {
  const bridged = withHistory({ paired: true, resultMedia: [], behindResults: "Noted." });

  it("is the model's where it must be, also behind what was mended", () => {
    const seen = result("b", "", { parts: [image] });
    const items = [
      called("a"),
      message("user", "never mind"),
      called("b"),
      seen,
      called("c"),
      result("c"),
      message("assistant", "so"),
      message("user", "and?"),
    ];
    const { turn, decisions } = planHistory(items, bridged);
    expect(summarize(turn.items)).toEqual([
      "call a",
      "result a",
      "assistant Noted.",
      "user never mind",
      "call b",
      "result b",
      "assistant Noted.",
      "user From the result of call b:|image",
      "call c",
      "result c",
      "assistant so",
      "user and?",
    ]);
    expect(decisions).toContainEqual({
      path: "input[1]",
      action: "repaired",
      reason:
        "only the model may follow tool results, so a short message of the model is added (2 times)",
    });
  });

  it("is not what the model only thought", () => {
    const { turn } = planHistory(
      [called("a"), result("a"), thought, message("user", "and?")],
      bridged,
    );
    expect(summarize(turn.items).slice(2)).toEqual(["reasoning", "assistant Noted.", "user and?"]);
  });

  it("stays as it is where it is the model's, or may be anybody's", () => {
    const items = [called("a"), result("a"), message("assistant", "so"), message("user", "and?")];
    expect(planHistory(items, bridged).turn.items).toBe(items);
    const others = [called("a"), result("a"), message("user", "and?")];
    expect(planHistory(others).turn.items).toBe(others);
    expect(planHistory([called("a"), result("a")], bridged).decisions).toEqual([]);
  });
});

describe("a conversation that begins with calls", () => {
  const led = withHistory({ paired: true, beforeCalls: "Go on." });

  it("begins with the user where it must, and says so", () => {
    const items = [message("system", "s"), thought, message("assistant", "so"), called("a")];
    const { turn, decisions } = planHistory([...items, result("a")], led);
    expect(summarize(turn.items)).toEqual([
      "system s",
      "user Go on.",
      "reasoning",
      "assistant so",
      "call a",
      "result a",
    ]);
    expect(decisions).toEqual([
      {
        path: "input[3]",
        action: "repaired",
        reason: "a call must follow a message of the user, so a short one is added",
      },
    ]);
  });

  it("stays as it is if somebody spoke before, or may", () => {
    const items = [message("user", "hi"), called("a"), result("a")];
    expect(planHistory(items, led).turn.items).toBe(items);
    expect(planHistory(items.slice(1)).decisions).toEqual([]);
  });
});
