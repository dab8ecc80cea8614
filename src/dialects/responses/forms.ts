import type { Decision } from "../../turn/decision.ts";
import { isFields } from "../../turn/json.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { Fields } from "../../turn/turn.ts";
import { NO_OBJECT } from "../shared/json-schema.ts";

const none: readonly Decision[] = [];

const repaired = (path: string, reason: string): Decision => ({ path, action: "repaired", reason });
const unnested = (path: string, what: string): Decision =>
  repaired(path, `the Responses API does not nest ${what}`);

/**
 * What a request says as chat does, and is understood all the same. Upstreams
 * are told as the API has it.
 */
export function strayForms({ input, tools, tool_choice, text }: Fields): readonly Decision[] {
  const found: Decision[] = [];
  if (Array.isArray(input))
    for (const [at, item] of (input as readonly Fields[]).entries())
      if (Array.isArray(item.content) && item.content.some(isStrayPart))
        found.push(
          repaired(`input[${at}].content`, "the Responses API has other words for its parts"),
        );
  if (Array.isArray(tools)) found.push(...strayTools(tools));
  if (isStrayChoice(tool_choice)) found.push(unnested("tool_choice", "a choice"));
  if (isFields(text) && isFields(text.format) && isFields(text.format.json_schema))
    found.push(unnested("text.format", "a format"));
  return found.length === 0 ? none : found;
}

const strayTools = memoizeByIdentity((tools: readonly unknown[]): readonly Decision[] =>
  tools.flatMap((tool, at) => {
    if (!isFlat(tool)) return [unnested(`tools[${at}]`, "what a tool is")];
    const found: Decision[] = [];
    const look = (said: unknown, path: string): void => {
      if (!isFields(said)) return;
      if (typeof said.parameters === "boolean")
        found.push(repaired(`${path}.parameters`, NO_OBJECT));
      if (Array.isArray(said.tools))
        for (const [inner, member] of said.tools.entries()) look(member, `${path}.tools[${inner}]`);
    };
    look(tool, `tools[${at}]`);
    return found;
  }),
);

const isStrayPart = (part: unknown): boolean =>
  isFields(part) &&
  (part.type === "text" ||
    part.type === "image_url" ||
    part.type === "file" ||
    (part.type === "input_image" && isFields(part.image_url)));

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
