import { Fault } from "../turn/fault.ts";
import type { Scope, Text } from "./section.ts";

const PLACEHOLDER = /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;

/** The parameters that a text names; those of a function cannot be known. */
export const placeholdersIn = (text: Text | undefined): readonly string[] =>
  typeof text === "string" ? [...text.matchAll(PLACEHOLDER)].map(([, name = ""]) => name) : [];

/** Writes a text for a scope. */
export function bindText(text: Text, scope: Scope): string {
  if (typeof text === "function") return text(scope).trim();
  return text
    .trim()
    .replaceAll(PLACEHOLDER, (_, name: string) => valueText(scope.params[name], name));
}

function valueText(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  if (value === undefined)
    throw new Fault(
      "agent.invalid",
      `The prompt needs the parameter \`${name}\`, and none was given.`,
    );
  return JSON.stringify(value);
}
