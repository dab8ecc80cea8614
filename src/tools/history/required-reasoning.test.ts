import { describe, expect, it } from "vitest";
import { ask, called, fn, message, result, withHistory } from "../../../test/support/turns.ts";
import type { Item } from "../../turn/turn.ts";
import { planTools } from "../plan/plan.ts";

const strict = withHistory({ paired: true, reasoningWithCalls: " " });
const tell = (items: readonly Item[], profile = strict) =>
  planTools(ask({ items, tools: [fn("look")] }), profile);
const thought = (...content: string[]): Item => ({ type: "reasoning", summary: [], content });
const short = (items: readonly { readonly type: string }[]): string =>
  items.map(({ type }) => type[0]).join("");

describe("reasoning before calls", () => {
  it("that is there is left as it is", () => {
    const items = [
      message("user", "hi"),
      thought("hm"),
      message("assistant", "so"),
      called("a"),
      called("b"),
      result("a"),
      result("b"),
      message("assistant", "done"),
    ];
    const plan = tell(items);
    expect(plan.turn.items).toBe(items);
    expect(plan.decisions).toEqual([]);
  });

  it("that is not known is said to be nothing, once for each turn of the model's", () => {
    const { turn, decisions } = tell([
      message("user", "hi"),
      called("a"),
      called("b"),
      result("a"),
      result("b"),
      message("assistant", "so"),
      called("c"),
      result("c"),
    ]);
    expect(short(turn.items)).toBe("mrccrrrmcr");
    expect(turn.items[1]).toEqual(thought(" "));
    expect(decisions).toEqual([
      {
        path: "input[1]",
        action: "repaired",
        reason:
          "the upstream requires reasoning before the call, so empty reasoning is added (2 times)",
      },
    ]);
  });

  it("must stand first, since what is said before may be a message of its own", () => {
    const { turn } = tell([message("assistant", "so"), thought("hm"), called("a"), result("a")]);
    expect(short(turn.items)).toBe("rmrcr");
  });

  it("may be said to be nothing by the client", () => {
    const items = [thought(""), called("a"), result("a")];
    expect(tell(items).turn.items).toBe(items);
    expect(short(tell([thought(), called("a"), result("a")]).turn.items)).toBe("rrcr");
  });

  it("is nothing to upstreams that do not ask for it", () => {
    const items = [called("a"), result("a")];
    expect(tell(items, withHistory({ paired: true })).turn.items).toBe(items);
  });

  it("that was of another model is replaced too", () => {
    const encrypted = 'patchbay:1:{"from":"a/b","content":["hm"]}';
    const items: Item[] = [
      { type: "reasoning", summary: [], content: ["hm"], encrypted },
      called("a"),
      result("a"),
    ];
    const { turn } = planTools(ask({ items, tools: [fn("look")] }), strict, { origin: "c/d" });
    expect(turn.items[0]).toEqual(thought(" "));
  });
});

describe("reasoning that led to nothing", () => {
  const items = [
    message("user", "hi"),
    thought("hm"),
    message("user", "well?"),
    thought("so"),
    message("assistant", "yes"),
    thought("and"),
    called("a"),
    result("a"),
    thought("then"),
  ];

  it("is left out where nothing may be empty, and told", () => {
    const { turn, decisions } = tell(items, withHistory({ paired: true, empty: false }));
    expect(short(turn.items)).toBe("mmrmrcr");
    expect(decisions).toEqual([
      {
        path: "input[1]",
        action: "dropped",
        reason: "the upstream does not accept reasoning without text or calls after it (2 times)",
      },
    ]);
  });

  it("stays elsewhere", () => {
    expect(tell(items, withHistory({ paired: true })).turn.items).toBe(items);
  });
});
