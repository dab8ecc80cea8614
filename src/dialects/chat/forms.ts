import type { Decision } from "../../turn/decision.ts";
import { isFields } from "../../turn/json.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { Fields } from "../../turn/turn.ts";
import { NO_OBJECT } from "../shared/json-schema.ts";
import { fieldsOf } from "../shared/loose.ts";
import { isOldMessage, oldFields } from "./old-form.ts";

const none: readonly Decision[] = [];

const repaired = (path: string, reason: string): Decision => ({ path, action: "repaired", reason });

/**
 * What a request says in a form that chat does not have, or has no longer, and
 * that is understood all the same. Upstreams are told in today's.
 */
export function strayForms(body: Fields, messages: readonly unknown[]): readonly Decision[] {
  const { tools, tool_choice } = body;
  const found = oldFields(body).map((name) => repaired(name, "chat has tools now"));
  for (const [at, message] of messages.entries()) {
    if (isOldMessage(message))
      found.push(repaired(`messages[${at}]`, "chat has calls and results of tools now"));
    if (isFields(message) && Array.isArray(message.content) && message.content.some(isStrayPart))
      found.push(repaired(`messages[${at}].content`, "chat has other words for its parts"));
  }
  found.push(...idleFields(body).map((name) => repaired(name, "it means nothing without tools")));
  if (Array.isArray(tools)) found.push(...strayTools(tools));
  if (isStrayChoice(tool_choice)) found.push(repaired("tool_choice", "chat says it otherwise"));
  return found.length === 0 ? none : found;
}

/** The fields about tools in a request that declares none: chat refuses each of them, an empty list too. */
export function idleFields(body: Fields): readonly string[] {
  const { tools, functions, tool_choice: choice, parallel_tool_calls: parallel } = body;
  if ([tools, functions].some((list) => Array.isArray(list) && list.length > 0)) return [];
  const idle: string[] = [];
  if (Array.isArray(tools)) idle.push("tools");
  // One that asks for a call is a mistake, and told as such.
  if (choice === "auto" || choice === "none") idle.push("tool_choice");
  if (typeof parallel === "boolean") idle.push("parallel_tool_calls");
  return idle;
}

const strayTools = memoizeByIdentity((tools: readonly unknown[]): readonly Decision[] =>
  tools.flatMap((tool, at) => {
    if (!isNested(tool))
      return [repaired(`tools[${at}]`, "chat keeps what a tool is under its type")];
    const { parameters } = fieldsOf(fieldsOf(tool)?.function) ?? {};
    if (typeof parameters !== "boolean") return [];
    return [repaired(`tools[${at}].function.parameters`, NO_OBJECT)];
  }),
);

const strayParts: ReadonlySet<unknown> = new Set([
  "input_text",
  "output_text",
  "input_image",
  "input_file",
]);

const isStrayPart = (part: unknown): boolean =>
  isFields(part) &&
  (strayParts.has(part.type) || (part.type === "image_url" && !isFields(part.image_url)));

/** Chat nests what it says of a function or a custom tool under that word. */
const isNested = (said: unknown): boolean =>
  isFields(said) &&
  typeof said.type === "string" &&
  ((said.type !== "function" && said.type !== "custom") || isFields(said[said.type]));

function isStrayChoice(choice: unknown): boolean {
  if (!isFields(choice)) return choice === "any";
  if (choice.type !== "allowed_tools") return !isNested(choice);
  const { allowed_tools: allowed } = choice;
  return !isFields(allowed) || !Array.isArray(allowed.tools) || !allowed.tools.every(isNested);
}
