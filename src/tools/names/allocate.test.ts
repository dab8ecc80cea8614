import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { NameRule } from "../../turn/profile.ts";
import { allocateNames, fitsNameRule, type NameRequest } from "./allocate.ts";

const rule: NameRule = { chars: "A-Za-z0-9_-", max: 64 };
const allocate = (names: readonly string[], under = rule): readonly string[] =>
  allocateNames(
    names.map((name) => ({ name, rank: 0 })),
    under,
  );

const anyName = fc.oneof(
  fc
    .array(fc.nat({ max: 0xff_ff }), { minLength: 1, maxLength: 300 })
    .map((codes) => String.fromCharCode(...codes)),
  fc.string({ minLength: 1, maxLength: 300 }),
  // Names that differ only in what an upstream does not take, or at their ends.
  fc.constantFrom("a.b", "a b", "a/b", "a_b", "a_b_2", "工具", "検索", "Ünï"),
  fc
    .tuple(fc.constantFrom("x".repeat(70), "é".repeat(70)), fc.string({ maxLength: 3 }))
    .map(([a, b]) => a + b),
);
const anyRule = fc.record({
  chars: fc.constantFrom("A-Za-z0-9_-", "a-z0-9_", "A-Za-z0-9", "a-z_", "A-Z", "a-f", "\\w."),
  max: fc.constantFrom(16, 64, 128),
  reserved: fc.constantFrom(undefined, ["a", "tool", "X*"], ["t*", "f*", "_*"], ["*"]),
});
const wishes = fc.uniqueArray(
  fc.record({
    name: anyName,
    prefix: fc.option(anyName, { nil: undefined, freq: 2 }),
    rank: fc.nat({ max: 3 }),
  }),
  { maxLength: 12, selector: ({ name, prefix }) => JSON.stringify([name, prefix ?? null]) },
);

describe("names", () => {
  it("are kept where they are lawful", () => {
    expect(allocate(["read_file", "get-weather", "X9"])).toEqual([
      "read_file",
      "get-weather",
      "X9",
    ]);
  });

  it("are bent to what the upstream takes, and numbered where they then clash", () => {
    expect(allocate(["a.b", "a b", "a/b", "a_b"])).toEqual(["a_b_3", "a_b_2", "a_b_4", "a_b"]);
  });

  it("are numbered soon, however many become the same", () => {
    const names = Array.from(
      { length: 20_000 },
      (_, at) => `x${String.fromCodePoint(0x4e00 + at)}`,
    );
    const given = allocate(names);
    expect(new Set(given).size).toBe(names.length);
    expect(given).toContain("x__20000");
  });

  it("never give way to a bent one, wherever they stand", () => {
    expect(allocate(["files.read", "files_read"])).toEqual(["files_read_2", "files_read"]);
    expect(allocate(["files_read", "files.read"])).toEqual(["files_read", "files_read_2"]);
  });

  it("are cut with a hash, so that long ones with the same beginning differ and stay readable", () => {
    const long = "search_the_archive_of_all_messages_that_were_ever_sent_by_anybody_".padEnd(
      80,
      "x",
    );
    const [one = "", other = ""] = allocate([`${long}_in`, `${long}_out`]);
    expect(one).toMatch(/^search_the_archive_of_all_messages_that_were_ever_sent_b_\w{7}$/);
    expect(one).toHaveLength(64);
    expect(one).not.toBe(other);
  });

  it("keep the tool's own name where a long namespace stands before it", () => {
    const wish: NameRequest = {
      prefix: `mcp__${"server".repeat(20)}`,
      name: "create_issue",
      rank: 2,
    };
    expect(allocateNames([wish], rule)[0]).toMatch(/^mcp__server\w+__create_issue_\w{7}$/);
  });

  it("that hold no letter the upstream takes are still told apart", () => {
    const given = allocate(["工具", "検索", "😀"]);
    expect(new Set(given).size).toBe(3);
    for (const name of given) expect(name).toMatch(/^tool_\w{7}$/);
  });

  it("the upstream keeps for itself are moved aside", () => {
    const reserving = { ...rule, reserved: ["exec_command", "mcp", "mcp__*"] };
    expect(allocate(["exec_command", "mcp", "mcp__git__status"], reserving)).toEqual([
      "exec_command_2",
      "mcp_2",
      "tool_mcp__git__status",
    ]);
  });

  it("are numbered and marked in signs that the upstream takes", () => {
    const letters = { chars: "a-z_", max: 20 };
    expect(allocate(["a_b", "a.b", "a b"], letters)).toEqual(["a_b", "a_b_d", "a_b_c"]);
    expect(allocate(["search_in_all_of_the_archive"], letters)[0]).toMatch(
      /^search_in_al_[a-z]{7}$/,
    );
  });

  it("begin as the upstream wants them to", () => {
    expect(allocate(["2fast", "-x", "ok"], { ...rule, first: "A-Za-z_" })).toEqual([
      "_2fast",
      "_-x",
      "ok",
    ]);
  });

  it("can be marked even where bending would do", () => {
    expect(allocate(["a.b", "a_b"], { ...rule, codec: "hash" })[0]).toMatch(/^a_b_\w{7}$/);
  });

  it("are lawful, different and independent of their order, whatever they were", () => {
    fc.assert(
      fc.property(wishes, anyRule, fc.infiniteStream(fc.nat()), (all, under, random) => {
        const given = allocateNames(all, under);
        expect(new Set(given).size).toBe(all.length);
        for (const name of given) expect(fitsNameRule(name, under)).toBe(true);

        const shuffled = all
          .map((wish) => ({ wish, at: random.next().value }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ wish }) => wish);
        const again = allocateNames(shuffled, under);
        for (const [at, wish] of shuffled.entries())
          expect(again[at]).toBe(given[all.indexOf(wish)]);
      }),
    );
  });

  it("that are lawful are kept whatever stands beside them", () => {
    fc.assert(
      fc.property(wishes, fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), (all, name) => {
        const others = all.filter((wish) => wish.name !== name || wish.prefix !== undefined);
        const given = allocateNames([...others, { name, rank: -1 }], rule);
        expect(given.at(-1)).toBe(name);
      }),
    );
  });
});
