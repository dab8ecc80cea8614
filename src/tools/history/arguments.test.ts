import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ask,
  builtin,
  called,
  custom,
  fn,
  plain,
  result,
  whole,
  withHistory,
} from "../../../test/support/turns.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Call, Turn } from "../../turn/turn.ts";
import { planTools } from "../plan/plan.ts";

/** A past call of `look` with these arguments, told to an upstream. */
const tell = (input: string, profile: Profile = plain, more: Partial<Turn> = {}) =>
  planTools(
    ask({ items: [called("a", "look", { input }), result("a")], tools: [fn("look")], ...more }),
    profile,
  );
const told = (input: string, profile?: Profile): string =>
  (tell(input, profile).turn.items[0] as unknown as Call).input;

describe("the arguments of a past call", () => {
  it("reach every upstream as the text of an object, whatever they were", () => {
    const written = fc.oneof(
      fc.json(),
      fc.string(),
      fc.json().map((text) => text.slice(0, -1)),
    );
    const upstream = fc.constantFrom(plain, whole, withHistory({ paired: true }));
    fc.assert(
      fc.property(written, upstream, (input, profile) => {
        const value: unknown = JSON.parse(told(input, profile));
        expect(Object.prototype.toString.call(value)).toBe("[object Object]");
      }),
    );
  });

  it("stay as they are written if they are one, and the request with them", () => {
    for (const profile of [plain, whole]) {
      const { turn, decisions, asked } = tell(' { "id": 12345678901234567890, "b":1.0}\n', profile);
      expect(turn.items).toBe(asked.items);
      expect(decisions).toEqual([]);
    }
  });

  it("are none where nothing was said", () => {
    for (const input of ["", " \n", "null"]) expect(told(input)).toBe("{}");
    expect(tell("").decisions).toEqual([
      {
        path: "input[0]",
        action: "repaired",
        reason: "the arguments of a call must be an object, so other values are put into one",
      },
    ]);
  });

  it("are told in full where they are no object", () => {
    expect(told('{"path": "a')).toBe('{"unreadable":"{\\"path\\": \\"a"}');
    expect(told("ls -la")).toBe('{"unreadable":"ls -la"}');
    expect(told("[12345678901234567890]")).toBe('{"value":[12345678901234567890]}');
    expect(told('"{\\"path\\":1.0}"')).toBe('{"path":1.0}');
  });

  it("are mended also where a function stands in for another kind of tool", () => {
    const tools = [builtin("tool_search", { execution: "client" })];
    const call = called("a", "tool_search", { kind: "tool_search", input: "" });
    const { turn } = tell("", plain, { tools, items: [call, result("a")] });
    expect(turn.items[0]).toMatchObject({ kind: "function", input: "{}" });
  });

  it("are no concern of tools that take text, nor of the client", () => {
    const items = [called("a", "write", { kind: "custom", input: "" }), result("a")];
    expect(tell("", whole, { tools: [custom("write")], items }).turn.items).toBe(items);
    expect(tell("ls").asked.items[0]).toMatchObject({ input: "ls" });
  });
});
