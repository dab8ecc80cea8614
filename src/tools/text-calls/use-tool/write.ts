import type { JsonSchema } from "../../../turn/turn.ts";
import { readValue, shapeOf, type Shape } from "./arguments.ts";
import { jsonOf } from "../../../turn/json.ts";
import { membersOf, type Member } from "./json-text.ts";
import { BLOCK, encodeKey } from "./key.ts";
import { escapeText } from "./text.ts";

/**
 * A call as text: one element for each argument, as the tool's schema reads it
 * back. Where that cannot be, all arguments stand in one element, as they are.
 */
export function writeUseTool(
  name: string,
  input: string,
  declared: JsonSchema | undefined,
  kind = "function",
): string {
  const isFree = kind === "custom";
  const known = shapeOf(isFree ? undefined : declared);
  const isNothing = kind === "function" && input.trim() === "";
  const members = isFree || isNothing ? undefined : membersOf(input);
  const whole = isNothing || members?.length === 0 ? "{}" : input;
  const children = (members && writeMembers(members, known)) ?? [
    element(known.whole, escapeText(whole)),
  ];
  return [`<${BLOCK}>`, element("name", escapeText(name)), ...children, `</${BLOCK}>`].join("\n");
}

/** The arguments one by one; nothing if one of them would not be read back, or there are none. */
function writeMembers(members: readonly Member[], known: Shape): string[] | undefined {
  const lines = new Map<string, string>();
  for (const [key, value] of members) {
    const text = writeValue(key, value, known);
    if (text === undefined || lines.has(key)) return undefined;
    lines.set(
      key,
      element(
        encodeKey(key, (one) => known.wraps(one)),
        escapeText(text),
      ),
    );
  }
  return lines.size === 0 ? undefined : [...lines.values()];
}

/** The text that is read as a value: itself, if it is a string, else its JSON. */
function writeValue(key: string, value: string, known: Shape): string | undefined {
  const { types } = known.property(key);
  const bare = value.startsWith('"') ? (jsonOf(value) as string) : value;
  return [bare, value].find((text) => readValue(text, types) === value);
}

const element = (tag: string, content: string): string => `  <${tag}>${content}</${tag}>`;
