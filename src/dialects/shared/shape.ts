import type { Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import { hasShortKeys, isFields, isWithin } from "../../json/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";

/** Schemas are walked recursively, so their depth is limited by the stack. Providers take a few tens. */
const DEEPEST = 512;

/** The longest key of a schema. Names of properties are short, patterns under `patternProperties` may be long. */
const LONGEST_KEY = 8192;

/** The JSON Schema at a path of a request, as the client sends it. */
export function schemaAt(value: unknown, path: string): JsonSchema {
  if (!isFields(value) && typeof value !== "boolean")
    throw invalid(path, "must be a JSON Schema: an object");
  if (!isWithin(value, DEEPEST))
    throw invalid(path, `must not be nested deeper than ${DEEPEST} levels`);
  if (!hasShortKeys(value, LONGEST_KEY))
    throw invalid(path, `must not have a key of more than ${LONGEST_KEY} characters`);
  return value;
}

/** Why the parameters of a function are not sent as they came. */
export const NO_OBJECT = "the parameters of a function are an object";

/** A schema as the parameters of a function: APIs take an object; one that is just `true` allows any. */
export function parametersOf(schema: JsonSchema | undefined): Fields | undefined {
  if (typeof schema !== "boolean") return schema;
  return schema ? { type: "object", properties: {}, additionalProperties: true } : { not: {} };
}

/** The text at a path of a request. */
export function textAt(value: unknown, path: string): string {
  if (typeof value === "string") return value;
  throw wrongType(value, path, "a string");
}

/** The same of a field that may be left out; null is how clients say "not set". */
export const optionalTextAt = (value: unknown, path: string): string | undefined =>
  value === undefined || value === null ? undefined : textAt(value, path);

/** The text at a path of a request, which must not be empty. */
export function filledTextAt(value: unknown, path: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw value === "" ? invalid(path, "must not be empty") : wrongType(value, path, "a string");
}

export function flagAt(value: unknown, path: string): boolean {
  if (typeof value === "boolean") return value;
  throw invalid(path, "must be true or false");
}

export const optionalFlagAt = (value: unknown, path: string): boolean | undefined =>
  typeof value === "boolean" || value == null ? (value ?? undefined) : flagAt(value, path);

export function optionalListAt(value: unknown, path: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value as readonly unknown[];
  throw wrongType(value, path, "an array");
}

/** `what` completes the sentence "must be ...". */
export function fieldsAt(value: unknown, path: string, what: string): Fields {
  if (isFields(value)) return value;
  throw invalid(path, `must be ${what}`);
}

/** `what` completes the sentence that begins with the name of the field: "must be ...". */
export const invalid = (path: string, what: string): Fault =>
  new Fault("request.invalid", `\`${path}\` ${what}.`, { param: path });

/** The Fault of a value that is not `wanted`. */
export const wrongType = (value: unknown, path: string, wanted: string): Fault =>
  invalid(path, `must be ${wanted}, not ${sortOf(value)}`);

function sortOf(value: unknown): string {
  if (value === undefined) return "left out";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value === "") return "empty";
  if (typeof value === "string" && value.length < 40) return JSON.stringify(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

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
