import type { z } from "zod";
import { Fault } from "../../turn/fault.ts";
import { pathOf, pathText } from "../../diagnostics/problem.ts";

type Issue = z.core.$ZodIssue;

/**
 * Reads what stands at a path of a request, the body itself at "". The Fault
 * names the field and what belongs there, in the schema's words if it has any.
 */
export function shaped<T>(schema: z.ZodType<T>, value: unknown, path: string): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const [first] = read.error.issues;
  if (first?.message.startsWith("must ") === true)
    throw invalid(pathText(pathOf(first), path), first.message);
  const { issue, at } = first === undefined ? { issue: undefined, at: [] } : deepest(first);
  const what =
    issue?.code === "too_small"
      ? "must not be empty"
      : `must be ${wanted(issue)}, not ${sortOf(reach(value, at))}`;
  throw invalid(pathText(pathOf({ path: at }), path), what);
}

/** `what` goes on from the name of the field: "must be ...". */
export const invalid = (path: string, what: string): Fault =>
  new Fault("request.invalid", `\`${path}\` ${what}.`, { param: path });

/** Of a value that fits none of several shapes, the shape it came closest to tells most. */
function deepest(issue: Issue): { issue: Issue; at: PropertyKey[] } {
  if (issue.code !== "invalid_union") return { issue, at: issue.path };
  let found = { issue, at: issue.path };
  for (const branch of issue.errors)
    for (const inner of branch) {
      const { issue: nested, at } = deepest(inner);
      if (at.length > 0 && at.length + issue.path.length > found.at.length)
        found = { issue: nested as typeof issue, at: [...issue.path, ...at] };
    }
  return found;
}

function wanted(issue: Issue | undefined): string {
  switch (issue?.code) {
    case "invalid_type":
      return withArticle(issue.expected === "record" ? "object" : issue.expected);
    case "invalid_value":
      return `one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "invalid_union":
      return [...new Set(issue.errors.map((branch) => wanted(branch[0])))].join(" or ");
    default:
      return "something else";
  }
}

function sortOf(value: unknown): string {
  if (value === undefined) return "left out";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value === "") return "empty";
  return typeof value === "string" && value.length < 40
    ? JSON.stringify(value)
    : withArticle(typeof value);
}

const withArticle = (noun: string): string => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`);

const reach = (value: unknown, at: readonly PropertyKey[]): unknown =>
  at.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null
        ? (inner as Record<PropertyKey, unknown>)[key]
        : undefined,
    value,
  );
