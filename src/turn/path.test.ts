import { expect, it } from "vitest";
import { called, message, result } from "../../test/turns.ts";
import { itemPath } from "./path.ts";
import type { Item } from "./turn.ts";

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
const paths = (dialect: "chat" | "responses", body = {}): string[] =>
  items.map((_, at) => itemPath({ dialect, items, body }, at));

it("finds an item where chat has it, with what is said in one message", () => {
  const messages = [0, 1, 2, 2, 2, 2, 3, 4, 5];
  expect(paths("chat")).toEqual(messages.map((at) => `messages[${at}]`));
});

it("finds an item in the input, where instructions are not", () => {
  expect(paths("responses").slice(0, 3)).toEqual(["instructions", "input[0]", "input[1]"]);
  expect(paths("responses").at(-1)).toBe("input[7]");
  expect(paths("responses", { input: "Hi" })[1]).toBe("input");
});

it.each(["chat", "responses"] as const)(
  "finds all of a long conversation soon, in %s",
  (dialect) => {
    const long = Array.from({ length: 200_000 }, (_, at) => called(`c${at}`));
    const turn = { dialect, items: long, body: {} };
    expect(new Set(long.map((_, at) => itemPath(turn, at))).size).toBe(
      dialect === "chat" ? 1 : long.length,
    );
  },
);
