import type { Fields } from "../../turn/turn.ts";

/** The fields about tools in a request that declares none: chat refuses each of them, an empty list too. */
export function idleFields(body: Fields): readonly string[] {
  const { tools, functions, tool_choice: choice, parallel_tool_calls: parallel } = body;
  if ([tools, functions].some((list) => Array.isArray(list) && list.length > 0)) return [];
  const idle: string[] = [];
  if (Array.isArray(tools)) idle.push("tools");
  // One that asks for a call is a mistake and refused.
  if (choice === "auto" || choice === "none") idle.push("tool_choice");
  if (typeof parallel === "boolean") idle.push("parallel_tool_calls");
  return idle;
}
