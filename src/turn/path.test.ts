import { expect, it } from "vitest";
import { called, message, result, traitsOf } from "../../test/support/turns.ts";
import { itemPath } from "./path.ts";
import type { Item, Turn } from "./turn.ts";

const thought: Item = { type: "reasoning", summary: [], content: ["hm"] };
const items: readonly Item[] = [
  { ...message("system", "Be brief."), instructions: true },
  message("user", "Hi"),
  thought,
  message("assistant", "Let me look."),
  called("a"),
  called("b"),
  result("a"),
  result("b"),
  message("assistant", "There."),
];
const paths = (dialect: string, more: Partial<Turn> = {}): string[] =>
  items.map((_, at) => itemPath({ traits: traitsOf(dialect), items, body: {}, ...more }, at));

it("finds an item in the message that it was said in", () => {
  const places = [0, 1, 2, 2, 2, 3, 4, 5, 6];
  expect(paths("chat", { places })).toEqual(places.map((at) => `messages[${at}]`));
});

it("finds an item in the input, where instructions are not", () => {
  expect(paths("responses").slice(0, 3)).toEqual(["instructions", "input[0]", "input[1]"]);
  expect(paths("responses").at(-1)).toBe("input[7]");
  expect(paths("responses", { body: { input: "Hi" } })[1]).toBe("input");
});

it("finds an item where it came from, though others have come between", () => {
  const places = [0, 0, 4, 4, 3, 1, 2, 9, 9];
  expect(paths("responses", { places })).toEqual([
    "instructions",
    ...places.slice(1).map((at) => `input[${at}]`),
  ]);
});

it("finds all of a long conversation soon", () => {
  const long = Array.from({ length: 200_000 }, (_, at) => called(`c${at}`));
  const turn = { traits: traitsOf("responses"), items: long, body: {} } as const;
  expect(new Set(long.map((_, at) => itemPath(turn, at))).size).toBe(long.length);
});
