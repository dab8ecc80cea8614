import { describe, expect, it } from "vitest";
import { ask, called, fn, message, result, withHistory } from "../../../test/support/turns.ts";
import type { HistoryRule } from "../../turn/profile.ts";
import type { Item } from "../../turn/turn.ts";
import { planTools } from "../plan/plan.ts";

const tell = (items: readonly Item[], rule: HistoryRule, tool = "look") =>
  planTools(ask({ items, tools: [fn(tool)] }), withHistory({ paired: true, ...rule }));
const ann = { ...message("user", "hi"), name: "ann" };
const named = (id: string, name: string): Item => ({ ...result(id), name });

describe("names in a conversation", () => {
  it("of who speaks are left out for an upstream that refuses them, openly", () => {
    const { turn, decisions } = tell([ann, ann], { names: false });
    expect(turn.items.map((item) => item.type === "message" && item.name)).toEqual([
      undefined,
      undefined,
    ]);
    expect(decisions).toEqual([
      {
        path: "input[0]",
        action: "dropped",
        reason: "the upstream does not support `name` on messages (2 times)",
      },
    ]);
    const items = [ann];
    expect(tell(items, {}).turn.items).toBe(items);
  });

  it("of tools stand with their results where they must, which is no change to report", () => {
    const items = [called("a"), called("b"), result("a"), result("b")];
    const { turn, decisions } = tell(items, { resultNames: true });
    expect(turn.items.slice(2)).toEqual([named("a", "look"), named("b", "look")]);
    expect(decisions).toEqual([]);
    const full = [called("a"), named("a", "look")];
    expect(tell(full, { resultNames: true }).turn.items).toBe(full);
    expect(tell(items, {}).turn.items).toBe(items);
  });

  it("of tools are those that the upstream knows", () => {
    const items = [called("a", "look.up"), named("a", "look.up")];
    const { turn } = tell(items, {}, "look.up");
    const [call, answer] = turn.items;
    expect(call).toMatchObject({ name: expect.stringMatching(/^look_up/) as string });
    expect(answer).toMatchObject({ name: call?.type === "call" && call.name });
  });
});
