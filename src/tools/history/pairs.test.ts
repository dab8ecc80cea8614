import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { summarize, planHistory, thought } from "../../../test/support/conversations.ts";
import {
  called,
  message,
  plain,
  result,
  said,
  withHistory,
  withTools,
} from "../../../test/support/turns.ts";
import type { Item } from "../../turn/turn.ts";

/** What a strict upstream would refuse. */
function flaws(items: readonly unknown[]): string[] {
  const found: string[] = [];
  const seen = new Set<string>();
  let open: string[] = [];
  for (const item of items as Item[]) {
    if (item.type === "call") {
      if (seen.has(item.id)) found.push(`${item.id} twice`);
      seen.add(item.id);
      open.push(item.id);
    } else if (item.type === "result") {
      if (!open.includes(item.call)) found.push(`result of ${item.call} without a call`);
      open = open.filter((waiting) => waiting !== item.call);
    } else if (open.length > 0) found.push(`${item.type} before the result of ${open.join()}`);
  }
  return [...found, ...open];
}

describe("calls and results", () => {
  it("that are in order stay as they are", () => {
    const items = [
      message("user", "hi"),
      thought,
      called("a"),
      called("b"),
      result("a"),
      result("b"),
      message("assistant", "so"),
      called("c"),
      result("c"),
    ];
    const plan = planHistory(items);
    expect(plan.turn.items).toBe(items);
    expect(plan.decisions).toEqual([]);
  });

  it("are paired where a call has no result", () => {
    const { turn, decisions } = planHistory([called("a"), message("user", "never mind")]);
    expect(turn.items).toEqual([
      expect.objectContaining({ type: "call", id: "a" }),
      {
        type: "result",
        call: "a",
        kind: "function",
        parts: said("There is no result: the call was interrupted."),
      },
      message("user", "never mind"),
    ]);
    expect(decisions).toEqual([
      {
        path: "input[0]",
        action: "repaired",
        reason: "the call has no result, so a result that states this is added",
      },
    ]);
  });

  it("are paired where a result has no call, or comes again", () => {
    const { turn, decisions } = planHistory([
      result("ghost"),
      called("a"),
      result("a", "1"),
      result("a", "2"),
    ]);
    expect(turn.items).toEqual([called("a"), result("a", "1")]);
    expect(decisions).toEqual([
      { path: "input[0]", action: "dropped", reason: "no call has this id" },
      { path: "input[3]", action: "dropped", reason: "the call already has a result" },
    ]);
  });

  it("are put in one order", () => {
    const { turn, decisions } = planHistory([called("a"), called("b"), result("b"), result("a")]);
    expect(summarize(turn.items)).toEqual(["call a", "call b", "result a", "result b"]);
    expect(decisions).toMatchObject([{ path: "input[3]", action: "repaired" }]);
  });

  it("are freed of what stands between them", () => {
    const { turn } = planHistory([
      called("a"),
      message("assistant", "one more thing"),
      thought,
      called("b"),
      message("user", "hurry"),
      result("a"),
      message("developer", "note"),
      result("b"),
      message("user", "well?"),
    ]);
    expect(summarize(turn.items)).toEqual([
      "assistant one more thing",
      "reasoning",
      "call a",
      "call b",
      "result a",
      "result b",
      "user hurry",
      "developer note",
      "user well?",
    ]);
  });

  it("that follow each other one by one stay so", () => {
    const items = [called("a"), result("a"), called("b"), result("b")];
    expect(planHistory([...items, called("c")]).turn.items.slice(0, 4)).toEqual(items);
  });

  it("are told one by one to an upstream that makes no calls at once", () => {
    const profile = withHistory({ paired: true }, withTools({ parallel: false }));
    const { turn, decisions } = planHistory(
      [called("a"), called("b"), result("a"), result("b")],
      profile,
    );
    expect(summarize(turn.items)).toEqual(["call a", "result a", "call b", "result b"]);
    expect(decisions).toMatchObject([{ action: "reshaped" }]);
  });

  it("whose ids are used again are told apart", () => {
    const { turn } = planHistory([
      called("call_0"),
      result("call_0", "1"),
      called("call_0"),
      result("call_0", "2"),
      called(""),
      result("", "3"),
    ]);
    const items = turn.items as Item[];
    const ids = items.flatMap((item) => (item.type === "call" ? item.id : []));
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toBe("call_0");
    for (let at = 0; at < 6; at += 2) expect(items[at + 1]).toMatchObject({ call: ids[at / 2] });
  });

  it("come out lawful and the same each time, whatever went in", () => {
    const id = fc.constantFrom("a", "b", "c", "");
    const item: fc.Arbitrary<Item> = fc.oneof(
      id.map((one) => called(one)),
      id.map((one) => result(one)),
      fc.constantFrom<Item>(message("user", "u"), message("assistant", "m"), thought),
    );
    fc.assert(
      fc.property(fc.array(item, { maxLength: 14 }), (items) => {
        const { turn } = planHistory(items);
        expect(planHistory(structuredClone(items)).turn.items).toEqual(turn.items);
        expect(flaws(turn.items)).toEqual([]);
        const count = (type: string, among: readonly { type: string }[]): number =>
          among.filter((one) => one.type === type).length;
        for (const type of ["call", "message", "reasoning"])
          expect(count(type, turn.items)).toBe(count(type, items));
      }),
    );
  });

  it("are left alone where the upstream does not ask", () => {
    const items = [result("ghost"), called("a")];
    expect(planHistory(items, plain).turn.items).toBe(items);
  });
});

it("pairs what follows a paired beginning as it pairs the whole", () => {
  const id = fc.constantFrom("a", "b", "c");
  const item = fc.oneof(
    id.map((one) => called(one)),
    id.map((one) => result(one)),
    fc.constant(message("user", "so")),
    fc.constant(thought),
  );
  const beginning = [called("a"), called("b"), result("a"), result("b"), message("user", "hi")];
  fc.assert(
    fc.property(fc.array(item, { maxLength: 8 }), (items) => {
      const { turn } = planHistory([...beginning, ...items]);
      expect(turn.items.slice(0, beginning.length)).toEqual(beginning);
      // Once paired it needs no pairing again.
      expect(planHistory(turn.items as readonly unknown[] as readonly Item[]).turn.items).toEqual(
        turn.items,
      );
      expect(flaws(turn.items)).toEqual([]);
    }),
  );
});
