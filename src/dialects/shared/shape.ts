import { z } from "zod";
import type { Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import { pathOf, pathText } from "../../diagnostics/problem.ts";
import { hasShortKeys, isFields, isWithin } from "../../json/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";

/** Schemas are walked recursively, so their depth is limited by the stack. Providers take a few tens. */
const DEEPEST = 512;

/** The longest key of a schema. Names of properties are short, patterns under `patternProperties` may be long. */
const LONGEST_KEY = 8192;

/** A JSON Schema as a client sends it. */
export const jsonSchema = z
  .custom<Fields | boolean>((value) => isFields(value) || typeof value === "boolean", {
    error: "must be a JSON Schema: an object",
  })
  .refine((value) => isWithin(value, DEEPEST), {
    error: `must not be nested deeper than ${DEEPEST} levels`,
    abort: true,
  })
  .refine((value) => hasShortKeys(value, LONGEST_KEY), {
    error: `must not have a key of more than ${LONGEST_KEY} characters`,
  });

/** Why the parameters of a function are not sent as they came. */
export const NO_OBJECT = "the parameters of a function are an object";

/** A schema as the parameters of a function: APIs take an object; one that is just `true` allows any. */
export function parametersOf(schema: JsonSchema | undefined): Fields | undefined {
  if (typeof schema !== "boolean") return schema;
  return schema ? { type: "object", properties: {}, additionalProperties: true } : { not: {} };
}

type Issue = z.core.$ZodIssue;

/**
 * Reads the value at a path of a request, the body itself at "". The Fault names the field and the
 * expected type, in the schema's words if it has any.
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

const text = z.string();
const filledText = text.min(1);
const flag = z.boolean({ error: "must be true or false" });
const list = z.array(z.unknown());

/** The text at a path of a request. */
export const textAt = (value: unknown, path: string): string =>
  typeof value === "string" ? value : shaped(text, value, path);

/** The same of a field that may be left out; null is how clients say "not set". */
export const optionalTextAt = (value: unknown, path: string): string | undefined =>
  value === undefined || value === null ? undefined : textAt(value, path);

/** The text at a path of a request, which must not be empty. */
export const filledTextAt = (value: unknown, path: string): string =>
  typeof value === "string" && value !== "" ? value : shaped(filledText, value, path);

export const optionalFlagAt = (value: unknown, path: string): boolean | undefined =>
  value === undefined || value === null || typeof value === "boolean"
    ? (value ?? undefined)
    : shaped(flag, value, path);

export const optionalListAt = (value: unknown, path: string): readonly unknown[] =>
  value === undefined || value === null ? [] : shaped(list, value, path);

/** `what` completes the sentence "must be ...". */
export function fieldsAt(value: unknown, path: string, what: string): Fields {
  if (isFields(value)) return value;
  throw invalid(path, `must be ${what}`);
}

/** `what` completes the sentence that begins with the name of the field: "must be ...". */
export const invalid = (path: string, what: string): Fault =>
  new Fault("request.invalid", `\`${path}\` ${what}.`, { param: path });

/** Finds the issue of the shape that a value came closest to, if it fits none of several. */
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

/** The name goes into headers and logs. */
const LONGEST = 512;

/** The model that a request names. */
export function readModel(model: unknown): string {
  if (model === undefined || model === null || model === "")
    throw new Fault(
      "request.missing_model",
      "`model` is missing; `GET /v1/models` lists the available models.",
      { param: "model" },
    );
  if (typeof model !== "string") throw invalid("model", "must be a string: the name of a model");
  if (model.length > LONGEST) throw invalid("model", `must be ${LONGEST} characters at most`);
  return model;
}

/** Records that a reader understood a form that its dialect does not have. */
export type Repair = (path: string, reason: string) => void;

/** Adds repairs to a list; several of one path for one reason count once. */
export const repairInto =
  (found: Decision[]): Repair =>
  (path, reason) => {
    const last = found.at(-1);
    if (last?.path !== path || last.reason !== reason)
      found.push({ path, action: "repaired", reason });
  };
