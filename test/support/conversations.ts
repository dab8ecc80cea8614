import type { Profile } from "../../src/turn/profile.ts";
import type { Item, Part, Turn } from "../../src/turn/turn.ts";
import { planTools, type Plan } from "../../src/tools/plan/plan.ts";
import { ask, fn, withHistory } from "./turns.ts";

/** An upstream that wants every call answered at once. */
export const paired = withHistory({ paired: true });

/** What an upstream is told of a conversation. */
export const planHistory = (
  items: readonly Item[],
  profile: Profile = paired,
  more: Partial<Turn> = {},
): Plan => planTools(ask({ items, tools: [fn("look")], ...more }), profile);

/** A conversation in short: what each item is, by id or text. */
export const summarize = (items: readonly unknown[]): string[] =>
  (items as Item[]).map((item) => {
    if (item.type === "call") return `call ${item.id}`;
    if (item.type === "result") return `result ${item.call}`;
    return item.type === "message" ? `${item.role} ${textOf(item.parts)}` : item.type;
  });

const textOf = (parts: readonly Part[]): string =>
  parts.map((part) => (part.type === "text" ? part.text : part.type)).join("|");

export const thought: Item = { type: "reasoning", summary: [], content: ["hm"] };
export const image: Part = { type: "image", url: "data:image/png;base64,AA" };
