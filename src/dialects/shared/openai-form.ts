import { isFields } from "../../json/json.ts";
import type { DialectTraits } from "../../turn/dialect-traits.ts";
import type { DialectName, Extra, Fields } from "../../turn/turn.ts";
import { fieldsOf } from "./loose.ts";

/**
 * The form in which an API of OpenAI writes content parts, tools, choices and formats. The two say
 * the same: Chat keeps the fields in an object named after the type, the Responses API beside it.
 */
export type OpenAiForm = {
  readonly dialect: DialectName;
  /** The name in sentences. */
  readonly api: string;
  readonly nested: boolean;
};

export const chatForm: OpenAiForm = { dialect: "chat", api: "chat", nested: true };
export const responsesForm: OpenAiForm = {
  dialect: "responses",
  api: "the Responses API",
  nested: false,
};

/** The parameters that both APIs have under one name. */
export const openAiParams = {
  temperature: "temperature",
  topP: "top_p",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  logprobs: "top_logprobs",
  parallelCalls: "parallel_tool_calls",
  serviceTier: "service_tier",
  store: "store",
  metadata: "metadata",
  user: "user",
  safetyIdentifier: "safety_identifier",
  cacheKey: "prompt_cache_key",
  cacheRetention: "prompt_cache_retention",
} as const satisfies DialectTraits["params"];

/** Why something in the form of the other API is not forwarded as it came. */
export const otherForm = ({ api }: OpenAiForm, what: string): string =>
  `${api} has another form for ${what}`;

/** The fields of a declaration, their path, and the fields beside them if they are nested. */
export function declarationOf(
  raw: Fields,
  type: string,
  path: string,
  { nested }: OpenAiForm,
): { readonly fields: unknown; readonly where: string; readonly outer?: Fields } {
  const { type: _, [type]: inner, ...outer } = raw;
  const isNested = isFields(inner) || (nested && (inner !== undefined || raw.name === undefined));
  return isNested
    ? { fields: inner, where: `${path}.${type}`, outer }
    : { fields: outer, where: path };
}

type WithExtra = { readonly extra?: Extra };
const noExtra: WithExtra = {};

/** The unknown fields of an object, and those of one object in it. Null is how clients say "not set". */
export function unknownFields(
  { dialect }: OpenAiForm,
  raw: Fields,
  known: readonly string[],
  inner?: string,
  innerKnown: readonly string[] = [],
): WithExtra {
  let found = fieldsExcept(raw, known);
  const more = inner === undefined ? undefined : fieldsOf(raw[inner]);
  const unknown = more && fieldsExcept(more, innerKnown);
  if (inner !== undefined && unknown !== undefined) found = { ...found, [inner]: unknown };
  return found === undefined ? noExtra : { extra: { dialect, fields: found } };
}

function fieldsExcept(fields: Fields, known: readonly string[]): Fields | undefined {
  let found: [string, unknown][] | undefined;
  for (const key in fields)
    if (fields[key] != null && !known.includes(key)) (found ??= []).push([key, fields[key]]);
  return found && Object.fromEntries(found);
}
