import type { Item, Turn } from "../turn/turn.ts";

/** Where the client finds an item of its conversation. */
export function itemPath(turn: Pick<Turn, "dialect" | "items">, at: number): string {
  const item = turn.items[at];
  if (item?.type === "message" && item.instructions === true) return "instructions";
  if (turn.dialect === "chat") return chatPath(item);
  // Instructions are an item to us and a field to the client.
  const [first] = turn.items;
  const isAhead = first?.type === "message" && first.instructions === true;
  return `input[${isAhead ? at - 1 : at}]`;
}

/** One message of Chat is several items to us, so a call's id finds it better than a number. */
function chatPath(item: Item | undefined): string {
  if (item?.type === "call") return `messages[tool_calls.id=${item.id}]`;
  if (item?.type === "result") return `messages[tool_call_id=${item.call}]`;
  return item?.type === "message" ? `messages[role=${item.role}]` : "messages";
}
