import type { Aside } from "../../turn/event.ts";
import type { Fields } from "../../turn/turn.ts";
import { thoughtFields } from "./details.ts";

/** The fields of a message that have a place in our events. */
const known = new Set<string>([
  "role",
  "content",
  "refusal",
  "annotations",
  "images",
  "tool_calls",
  "function_call",
  ...thoughtFields,
]);

/** What else a message or a piece of it holds: that of its reasoning, and the rest. */
export function asidesIn(delta: Fields): Readonly<Record<Aside["of"], Fields | undefined>> {
  let message: Record<string, unknown> | undefined;
  let reasoning: Record<string, unknown> | undefined;
  for (const key of Object.keys(delta)) {
    const value = delta[key];
    if (known.has(key) || isNothing(value)) continue;
    if (/^(?:reasoning|thinking)/.test(key)) (reasoning ??= {})[key] = value;
    else (message ??= {})[key] = value;
  }
  return { message, reasoning };
}

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  (typeof value === "object" && Object.keys(value).length === 0);
