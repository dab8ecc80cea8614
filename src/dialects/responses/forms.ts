import type { Decision } from "../../turn/decision.ts";
import { isFields } from "../../turn/json.ts";
import type { Fields } from "../../turn/turn.ts";

const none: readonly Decision[] = [];
/** By the array, as the tools are read. */
const known = new WeakMap<readonly unknown[], readonly Decision[]>();

const repaired = (path: string, what: string): Decision => ({
  path,
  action: "repaired",
  reason: `the Responses API does not nest ${what}`,
});

/**
 * What a request says as chat does, and is understood all the same. Upstreams
 * are told as the API has it.
 */
export function strayForms({ tools, tool_choice, text }: Fields): readonly Decision[] {
  const found: Decision[] = [];
  if (Array.isArray(tools)) found.push(...strayTools(tools));
  if (isStrayChoice(tool_choice)) found.push(repaired("tool_choice", "a choice"));
  if (isFields(text) && isFields(text.format) && isFields(text.format.json_schema))
    found.push(repaired("text.format", "a format"));
  return found.length === 0 ? none : found;
}

function strayTools(tools: readonly unknown[]): readonly Decision[] {
  let stray = known.get(tools);
  if (stray === undefined) {
    stray = tools.flatMap((tool, at) =>
      isFlat(tool) ? [] : [repaired(`tools[${at}]`, "what a tool is")],
    );
    known.set(tools, stray);
  }
  return stray;
}

function isFlat(said: unknown): boolean {
  if (!isFields(said) || typeof said.type !== "string") return false;
  if (said.type !== "namespace") return !isFields(said[said.type]);
  return !Array.isArray(said.tools) || said.tools.every(isFlat);
}

function isStrayChoice(choice: unknown): boolean {
  if (!isFields(choice)) return false;
  if (/^(?:auto|none|required)$/.test(String(choice.type))) return true;
  if (choice.type !== "allowed_tools") return !isFlat(choice);
  return !Array.isArray(choice.tools) || !choice.tools.every(isFlat);
}
