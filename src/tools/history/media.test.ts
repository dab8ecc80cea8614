import { describe, expect, it } from "vitest";
import { image, summarize, planHistory } from "../../../test/support/conversations.ts";
import { called, message, result, said, withHistory } from "../../../test/support/turns.ts";
import type { HistoryRule } from "../../turn/profile.ts";
import type { Item } from "../../turn/turn.ts";

describe("messages", () => {
  const under = (history: HistoryRule, ...items: Item[]) =>
    planHistory(items, withHistory(history));

  it("go under roles that the upstream knows, which is said once", () => {
    const { turn, decisions } = under(
      { roles: ["system", "user", "assistant"] },
      message("developer", "a"),
      message("user", "b"),
      message("developer", "c"),
    );
    expect(summarize(turn.items)).toEqual(["system a", "user b", "system c"]);
    expect(decisions).toEqual([
      {
        path: "input[0]",
        action: "reshaped",
        reason: "developer messages are sent as system messages (2 times)",
      },
    ]);
  });

  it("of the system come first and once, where the upstream wants that", () => {
    const { turn } = under(
      { roles: ["system", "user", "assistant"], lateSystem: false },
      message("system", "a"),
      message("developer", "b"),
      message("user", "c"),
      message("developer", "d"),
    );
    expect(summarize(turn.items)).toEqual(["system a|\n\n|b", "user c", "user d"]);
  });

  it("do not come empty where the upstream does not accept empty content", () => {
    const { turn, decisions } = under(
      { empty: false },
      message("user", ""),
      { ...message("user", " "), parts: [...said(" "), ...said("x")] },
      called("a"),
      result("a", ""),
    );
    expect(summarize(turn.items)).toEqual(["user x", "call a", "result a"]);
    expect(turn.items.at(-1)).toMatchObject({ parts: said("(no output)") });
    expect(decisions).toMatchObject([{ path: "input[0]", action: "repaired" }]);
  });

  it("show images of results behind the results, where those can only be text", () => {
    const { turn, decisions } = under(
      { paired: true, resultMedia: [] },
      called("a"),
      called("b"),
      { ...result("a"), parts: [...said("seen"), image] },
      result("b"),
    );
    expect(turn.items.slice(2)).toEqual([
      {
        ...result("a"),
        parts: [...said("seen"), ...said("(The image follows in the next message.)")],
      },
      result("b"),
      { type: "message", role: "user", parts: [...said("From the result of call a:"), image] },
    ]);
    expect(decisions).toMatchObject([{ path: "input[2]", action: "reshaped" }]);
  });

  it("say so where there was something that the upstream cannot be shown", () => {
    const { turn, decisions } = under(
      { media: [], resultMedia: [] },
      { ...message("user", "look"), parts: [image] },
    );
    expect(turn.items).toMatchObject([{ parts: said("(The image part here cannot be shown.)") }]);
    expect(decisions).toEqual([
      {
        path: "input[0]",
        action: "dropped",
        reason: "the upstream does not accept image parts here",
      },
    ]);
  });

  it("of the system are sent as one only as far as they are text", () => {
    const seen: Item = { ...message("system", "see"), parts: [image] };
    const { turn } = planHistory(
      [message("system", "a"), message("system", "b"), seen, message("system", "c")],
      withHistory({ lateSystem: false }),
    );
    expect(summarize(turn.items)).toEqual(["system a|\n\n|b", "user image", "user c"]);
  });
});
