import { z } from "zod";
import { isFields } from "../turn/json.ts";
import type { Fields } from "../turn/turn.ts";
import { nearest } from "./nearest.ts";

/** One thing wrong with a configuration: where, what, and what to do about it. */
export type Problem = {
  readonly path: readonly (string | number)[];
  readonly message: string;
};

/** Everything wrong with a configuration, by its schema and across its parts. */
export function findProblems(raw: unknown, schema: z.ZodType): Problem[] {
  const { value, problems } = settleDialects(raw);
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const shape = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
    for (const issue of parsed.error.issues) problems.push(...sentences(issue, value, shape));
  }
  return [...problems, ...unnameable(raw, []), ...crossProblems(raw)];
}

/** The one key that JavaScript takes for something else: what stands under it would be lost on the way. */
function unnameable(value: unknown, path: Problem["path"]): Problem[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    if (key === UNNAMEABLE) return [{ path: at, message: "cannot be a name here; choose another" }];
    return unnameable(inner, at);
  });
}

const UNNAMEABLE = "__proto__";

/** Those that a configuration may name. */
export const dialectNames: readonly string[] = [
  "chat",
  "responses",
  "messages",
  "codex",
  "scripted",
];

/**
 * An upstream whose dialect is wrong would hide what else is wrong with it, so
 * the rest is checked as the dialect it most likely means.
 */
function settleDialects(raw: unknown): { value: unknown; problems: Problem[] } {
  const problems: Problem[] = [];
  if (!isFields(raw) || !isFields(raw.upstreams)) return { value: raw, problems };
  const upstreams = Object.entries(raw.upstreams).map(([name, upstream]) => {
    if (!isFields(upstream)) return [name, upstream];
    const said = upstream.dialect;
    if (typeof said === "string" && dialectNames.includes(said)) return [name, upstream];
    const meant = meantDialect(upstream);
    const what = said === undefined ? "is missing" : `is none of ${dialectNames.join(", ")}`;
    const message =
      meant === undefined
        ? notOneOf(dialectNames, said)
        : `${what}; did you mean \`dialect: ${meant}\`?`;
    problems.push({ path: ["upstreams", name, "dialect"], message });
    return [name, { ...upstream, dialect: meant ?? PLAINEST }];
  });
  return { value: { ...raw, upstreams: Object.fromEntries(upstreams) as Fields }, problems };
}

/** The dialect whose upstreams have only what all have, for those that have no more. */
const PLAINEST = "scripted";

function meantDialect(upstream: Fields): string | undefined {
  const said = upstream.dialect;
  const near = typeof said === "string" ? nearest(said, dialectNames) : undefined;
  if (near !== undefined) return near;
  if ("script" in upstream) return "scripted";
  if ("command" in upstream || "home" in upstream) return "codex";
  const overHttp = ["base_url", "api_key", "headers", "timeouts", "retries", "connections"];
  return overHttp.some((key) => key in upstream) ? "chat" : undefined;
}

/** What zod found, in sentences that name the remedy. */
function sentences(issue: z.core.$ZodIssue, value: unknown, shape: Fields): Problem[] {
  const path = issue.path.map((key) => (typeof key === "number" ? key : String(key)));
  const one = (message: string): Problem[] => [{ path, message }];
  switch (issue.code) {
    case "unrecognized_keys": {
      const known = keysAt(shape, value, path);
      return issue.keys
        .filter((key) => key !== UNNAMEABLE)
        .map((key) => ({ path: [...path, key], message: unknownKey(key, known) }));
    }
    case "invalid_key":
      return one(unknownKey(String(path.at(-1)), keysAt(shape, value, path.slice(0, -1))));
    case "invalid_type":
      return one(wrongType(issue.expected, valueAt(value, path)) + nameHint(path, value));
    case "invalid_value":
      return one(notOneOf(issue.values.map(String), valueAt(value, path)));
    case "invalid_union":
      if (!("options" in issue) || !Array.isArray(issue.options)) return one(issue.message);
      return one(notOneOf(issue.options.map(String), valueAt(value, path)));
    case "too_small":
      if (issue.origin === "string") return one("is empty; give it a value or leave the key out");
      if (issue.origin === "array") return one("is an empty list; name at least one");
      return one(
        `must be ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}`,
      );
    case "too_big":
      return one(`must be at most ${issue.maximum}`);
    default:
      return one(issue.message);
  }
}

function unknownKey(key: string, known: readonly string[]): string {
  const near = nearest(key, known);
  if (near !== undefined) return `is not a known key; did you mean \`${near}\`?`;
  return `is not a known key; known here: ${known.join(", ")}`;
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

/** Keys of an upstream that stand where its name should. */
const nameHint = (path: Problem["path"], value: unknown): string =>
  path.length === 2 && path[0] === "upstreams" && typeof valueAt(value, path) === "string"
    ? "; give the upstream a name, and put its keys under that"
    : "";

function typeName(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "boolean") return `\`${value}\``;
  return typeNames[typeof value] ?? typeof value;
}

function notOneOf(options: readonly string[], value: unknown): string {
  const near = typeof value === "string" ? nearest(value, options) : undefined;
  const what = value === undefined ? "is missing; it must be" : "must be";
  const among = options.length === 1 ? `\`${options[0]}\`` : `one of ${options.join(", ")}`;
  return `${what} ${among}${near === undefined ? "" : `; did you mean \`${near}\`?`}`;
}

/** The keys that may stand at a path, read from the schema in JSON form. */
function keysAt(shape: Fields, value: unknown, path: Problem["path"]): string[] {
  let shapes = alternatives(shape, value);
  let here = value;
  for (const key of path) {
    here = isFields(here) || Array.isArray(here) ? (here as Fields)[key] : undefined;
    shapes = shapes.flatMap((outer) => {
      const inner = inside(outer, String(key));
      return inner === undefined ? [] : alternatives(inner, here);
    });
  }
  return [...new Set(shapes.flatMap(keysOf))];
}

function inside(shape: Fields, key: string): Fields | undefined {
  const { properties, additionalProperties, items } = shape;
  if (isFields(properties) && isFields(properties[key])) return properties[key];
  if (isFields(additionalProperties)) return additionalProperties;
  return isFields(items) ? items : undefined;
}

/** The branches of a union that the value may mean: those whose constants it does not contradict. */
function alternatives(shape: Fields, value: unknown): Fields[] {
  const branches = shape.oneOf ?? shape.anyOf;
  if (!Array.isArray(branches)) return [shape];
  const all = branches.filter(isFields);
  const fitting = all.filter((branch) => agrees(branch, value));
  return fitting.length > 0 ? fitting : all;
}

function agrees(branch: Fields, value: unknown): boolean {
  if (!isFields(value) || !isFields(branch.properties)) return false;
  return Object.entries(branch.properties).every(([key, rule]) => {
    if (!isFields(rule) || value[key] === undefined) return true;
    if ("const" in rule) return rule.const === value[key];
    return key !== "dialect" || !Array.isArray(rule.enum) || rule.enum.includes(value[key]);
  });
}

function keysOf(shape: Fields): string[] {
  if (isFields(shape.properties)) return Object.keys(shape.properties);
  const names = shape.propertyNames;
  return isFields(names) && Array.isArray(names.enum) ? names.enum.map(String) : [];
}

/** What no single key shows: names that must fit each other. Works on whatever is there. */
function crossProblems(raw: unknown): Problem[] {
  if (!isFields(raw)) return [];
  const upstreams = isFields(raw.upstreams) ? Object.keys(raw.upstreams) : [];
  const problems: Problem[] = [];
  for (const name of upstreams)
    if (!/^[^/\s]+$/.test(name))
      problems.push({
        path: ["upstreams", name],
        message:
          "holds a slash or a blank; models are addressed as `upstream/model`, so name it without",
      });
  if (!isFields(raw.models)) return problems;
  for (const [model, to] of Object.entries(raw.models)) {
    const path = ["models", model];
    if (typeof to === "string") problems.push(...placeProblems(to, path, upstreams));
    if (!Array.isArray(to)) continue;
    for (const [index, place] of to.entries())
      if (typeof place === "string")
        problems.push(...placeProblems(place, [...path, index], upstreams));
  }
  return problems;
}

function placeProblems(
  place: string,
  path: Problem["path"],
  upstreams: readonly string[],
): Problem[] {
  if (place === "") return [];
  const [, upstream, model] = /^([^/]*)\/(.*)$/s.exec(place) ?? [];
  const known = upstreams.length === 0 ? "none is configured" : `there are ${upstreams.join(", ")}`;
  if (upstream === undefined || upstream === "" || model === undefined || model === "")
    return [{ path, message: `\`${place}\` must be \`upstream/model\`; ${known}` }];
  if (upstreams.includes(upstream)) return [];
  const near = nearest(upstream, upstreams);
  const remedy = near === undefined ? known : `did you mean \`${near}/${model}\`?`;
  return [{ path, message: `there is no upstream \`${upstream}\`; ${remedy}` }];
}

function valueAt(value: unknown, path: Problem["path"]): unknown {
  let here = value;
  for (const key of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Fields)[key];
  }
  return here;
}
