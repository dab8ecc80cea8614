import type { z } from "zod";
import { nearest } from "./nearest.ts";

/** The path of a value in an input. */
export type Path = readonly (string | number)[];

/** One problem of an input: its place, and a message with the remedy. */
export type Problem = { readonly path: Path; readonly message: string };

/** A path as text, such as `models.cheap[1]`. Keys that look like paths are quoted. `before` precedes the path. */
export function pathText(path: Path, before = ""): string {
  let text = before;
  for (const key of path) {
    if (typeof key === "number") text += `[${key}]`;
    else if (/[.[\]"\s]/.test(key) || key === "") text += `[${JSON.stringify(key)}]`;
    else text += text === "" ? key : `.${key}`;
  }
  return text;
}

/** The path of an issue of zod. */
const pathOf = ({ path }: Pick<z.core.$ZodIssue, "path">): Path =>
  path.map((key) => (typeof key === "number" ? key : String(key)));

/**
 * An issue of zod as problems that name the remedy. The schema has to be parsed with `reportInput`.
 * `keysAt` lists the valid keys at a path.
 */
export function issueProblems(
  issue: z.core.$ZodIssue,
  keysAt: (path: Path) => readonly string[] = () => [],
  before: Path = [],
): readonly Problem[] {
  const path = [...before, ...pathOf(issue)];
  const unknown = (key: string, within: Path): string =>
    unknownKey(key, keysAt(within), within.length === 0 ? [] : keysAt([]));
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => ({ path: [...path, key], message: unknown(key, path) }));
    case "invalid_key":
      return [{ path, message: unknown(String(path.at(-1)), path.slice(0, -1)) }];
    case "invalid_union": {
      const inner = branchFor(issue);
      if (inner === undefined) return [{ path, message: sentence(issue) }];
      return inner.flatMap((one) => issueProblems(one, keysAt, path));
    }
    default:
      return [{ path, message: sentence(issue) }];
  }
}

/**
 * The issues of the only branch of a union that takes a group of keys: its keys explain more than
 * the list of forms.
 */
function branchFor({
  errors,
  input,
}: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] | undefined {
  if (typeof input !== "object" || input === null) return undefined;
  const fitting = errors.filter((issues) =>
    issues.every(({ code, path }) => code !== "invalid_type" || path.length > 0),
  );
  return fitting.length === 1 ? fitting[0] : undefined;
}

function sentence(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return wrongType(issue.expected, issue.input);
    case "invalid_value":
      return notOneOf(issue.values.map(String), issue.input);
    case "invalid_union":
      if (!("options" in issue) || !Array.isArray(issue.options)) return issue.message;
      return notOneOf(issue.options.map(String), discriminated(issue));
    case "too_small":
      if (issue.origin === "string") return "is empty; give it a value or leave the key out";
      if (issue.origin === "array") return "is an empty list; it needs at least one entry";
      return `must be ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}`;
    case "too_big":
      return `must be at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

/** The value that selects one of several forms: zod gives the object that holds it. */
const discriminated = ({ input, path }: z.core.$ZodIssue): unknown =>
  typeof input === "object" && input !== null
    ? (input as Record<PropertyKey, unknown>)[path.at(-1) ?? ""]
    : input;

function unknownKey(key: string, known: readonly string[], atTop: readonly string[]): string {
  if (atTop.includes(key)) return `is not a known key here; \`${key}\` belongs at the top level`;
  const near = nearest(key, known);
  if (near !== undefined) return `is not a known key; did you mean \`${near}\`?`;
  return `is not a known key; ${known.length === 0 ? "leave it out" : `known here: ${known.join(", ")}`}`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "`true` or `false`",
  array: "a list",
  object: "a group of keys",
  record: "a group of keys",
};

function wrongType(expected: string, value: unknown): string {
  const wanted = typeNames[expected] ?? expected;
  if (value === undefined) return `is missing; it must be ${wanted}`;
  if (value === null) return `is empty; it must be ${wanted}, or leave the key out`;
  if (expected === "int" && typeof value === "number") return "must be a whole number";
  if (typeof value === "number" && !Number.isFinite(value)) return "must be a finite number";
  if (expected === "string" && typeof value !== "object")
    return `must be text, not ${typeName(value)}; put it in quotes`;
  return `must be ${wanted}, not ${typeName(value)}`;
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "boolean") return `\`${value}\``;
  return typeNames[typeof value] ?? typeof value;
}

/** A sentence with the valid values and the most similar one. */
export function notOneOf(options: readonly string[], value: unknown): string {
  const near = typeof value === "string" ? nearest(value, options) : undefined;
  const what = value === undefined ? "is missing; it must be" : "must be";
  const among = options.length === 1 ? `\`${options[0]}\`` : `one of ${options.join(", ")}`;
  return `${what} ${among}${near === undefined ? "" : `; did you mean \`${near}\`?`}`;
}
