import { z } from "zod";
import type { Decision } from "../turn/decision.ts";
import { Fault } from "../turn/fault.ts";
import type { AnyName } from "../turn/names.ts";
import type { Profile } from "../turn/profile.ts";
import type { DialectName, Fields, Params, Turn } from "../turn/turn.ts";

type ParamRule = {
  /** Where each dialect keeps it; a dot goes into a group. None: the dialect has no word for it. */
  readonly chat?: string;
  readonly responses?: string;
  readonly type: z.ZodType;
  /** Without it the answer would be to another question: refuse rather than drop. */
  readonly vital?: true;
};

const fields = z.record(z.string(), z.unknown());

/** One row per scalar of a request: what the dialects call it. */
export const params = {
  maxTokens: {
    chat: "max_completion_tokens",
    responses: "max_output_tokens",
    type: z.int().positive(),
  },
  temperature: { chat: "temperature", responses: "temperature", type: z.number() },
  topP: { chat: "top_p", responses: "top_p", type: z.number() },
  n: { chat: "n", type: z.int().positive().max(128) },
  stop: {
    chat: "stop",
    type: z.union([z.string().transform((one) => [one]), z.array(z.string())]),
  },
  seed: { chat: "seed", type: z.number() },
  presencePenalty: { chat: "presence_penalty", responses: "presence_penalty", type: z.number() },
  frequencyPenalty: { chat: "frequency_penalty", responses: "frequency_penalty", type: z.number() },
  logitBias: { chat: "logit_bias", type: fields },
  logprobs: { chat: "top_logprobs", responses: "top_logprobs", type: z.int().nonnegative() },
  parallelCalls: {
    chat: "parallel_tool_calls",
    responses: "parallel_tool_calls",
    type: z.boolean(),
  },
  maxCalls: { responses: "max_tool_calls", type: z.int().positive() },
  effort: { chat: "reasoning_effort", responses: "reasoning.effort", type: z.string() },
  reasoningSummary: { responses: "reasoning.summary", type: z.string() },
  verbosity: { chat: "verbosity", responses: "text.verbosity", type: z.string() },
  serviceTier: { chat: "service_tier", responses: "service_tier", type: z.string() },
  store: { chat: "store", responses: "store", type: z.boolean() },
  metadata: { chat: "metadata", responses: "metadata", type: fields },
  user: { chat: "user", responses: "user", type: z.string() },
  safetyIdentifier: { chat: "safety_identifier", responses: "safety_identifier", type: z.string() },
  cacheKey: { chat: "prompt_cache_key", responses: "prompt_cache_key", type: z.string() },
  cacheRetention: {
    chat: "prompt_cache_retention",
    responses: "prompt_cache_retention",
    type: z.string(),
  },
  include: { responses: "include", type: z.array(z.string()) },
  truncation: { responses: "truncation", type: z.string() },
  modalities: { chat: "modalities", type: z.array(z.string()) },
  audio: { chat: "audio", type: fields },
  prediction: { chat: "prediction", type: fields },
  webSearch: { chat: "web_search_options", type: fields },
  previousResponse: { responses: "previous_response_id", type: z.string(), vital: true },
  conversation: { responses: "conversation", type: z.unknown(), vital: true },
  background: { responses: "background", type: z.boolean(), vital: true },
  prompt: { responses: "prompt", type: fields, vital: true },
} as const satisfies { readonly [P in keyof Required<Params>]: ParamRule };

type ParamName = keyof Params;
export type HttpDialect = "chat" | "responses";

/** `top level key -> inner key or "" -> parameter`, for each dialect. */
const places: Record<HttpDialect, Map<string, Map<string, ParamName>>> = {
  chat: new Map(),
  responses: new Map(),
};
for (const [name, rule] of Object.entries(params) as [ParamName, ParamRule][])
  for (const dialect of ["chat", "responses"] as const) place(dialect, rule[dialect], name);
// The older word for the same thing; still what most compatible servers know.
place("chat", "max_tokens", "maxTokens");

function place(dialect: HttpDialect, path: string | undefined, name: ParamName): void {
  if (path === undefined) return;
  const [key = "", inner = ""] = path.split(".");
  const group = places[dialect].get(key) ?? new Map<string, ParamName>();
  places[dialect].set(key, group.set(inner, name));
}

/**
 * Sorts a request body: the parameters we know, and what we do not. `null` is
 * how clients say "not set". Keys in `own` are the dialect's to read.
 */
export function readParams(
  dialect: HttpDialect,
  body: Fields,
  own: ReadonlySet<string>,
): { params: Params; extra: Fields } {
  const known: Record<string, unknown> = {};
  const extra: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(body)) {
    const group = places[dialect].get(key);
    if (group === undefined) {
      if (!own.has(key) && value !== undefined) extra[key] = value;
      continue;
    }
    if (value === null || value === undefined) continue;
    const whole = group.get("");
    if (whole !== undefined) {
      known[whole] ??= check(whole, value, key);
      continue;
    }
    const inner = check("metadata", value, key) as Fields;
    const rest: Record<string, unknown> = {};
    for (const [innerKey, innerValue] of Object.entries(inner)) {
      const name = group.get(innerKey);
      if (name !== undefined) {
        if (innerValue !== null) known[name] = check(name, innerValue, `${key}.${innerKey}`);
      } else if (!own.has(`${key}.${innerKey}`)) rest[innerKey] = innerValue;
    }
    if (Object.keys(rest).length > 0) extra[key] = rest;
  }
  return { params: known, extra };
}

function check(name: ParamName, value: unknown, path: string): unknown {
  const read = params[name].type.safeParse(value);
  if (read.success) return read.data;
  throw new Fault(
    "request.invalid",
    `\`${path}\`: ${read.error.issues[0]?.message ?? "invalid value"}.`,
    { param: path },
  );
}

/** Where a client finds a parameter in its own request. */
export const paramPath = (name: ParamName, dialect: DialectName): string =>
  (dialect === "chat" || dialect === "responses"
    ? (params[name] as ParamRule)[dialect]
    : undefined) ?? name;

/** Writes the parameters in an upstream's words; what it has no word for becomes a decision. */
export function writeParams<Name extends AnyName>(
  turn: Turn<Name>,
  dialect: HttpDialect,
  profile: Profile,
): { fields: Record<string, unknown>; decisions: Decision[] } {
  const written: Record<string, unknown> = {};
  const decisions: Decision[] = [];
  for (const [key, value] of Object.entries(turn.params)) {
    const name = key as ParamName;
    const rule: ParamRule = params[name];
    const own = profile.params[name];
    const path = own === undefined ? rule[dialect] : (own ?? undefined);
    if (value === undefined) continue;
    if (path !== undefined) {
      put(written, path, value);
      continue;
    }
    const asked = paramPath(name, turn.dialect);
    // False is what the upstream does anyway.
    if (rule.vital === true && value !== false)
      throw new Fault(
        "request.unsupported",
        `\`${asked}\` needs an upstream that has it, and the ${profile.name} profile does not. Leave it out, or send the conversation itself in the request.`,
        { param: asked },
      );
    if (value !== false)
      decisions.push({
        path: asked,
        action: "dropped",
        reason: `the ${profile.name} profile has no such parameter`,
      });
  }
  return { fields: written, decisions };
}

/** What the client said and we did not understand: given back to its own dialect, else reported. */
export function writeExtra<Name extends AnyName>(
  turn: Turn<Name>,
  dialect: HttpDialect,
  body: Record<string, unknown>,
): Decision[] {
  const decisions: Decision[] = [];
  for (const [key, value] of Object.entries(turn.extra.fields)) {
    if (turn.extra.dialect !== dialect)
      decisions.push({
        path: key,
        action: "dropped",
        reason: `the ${dialect} dialect has no such field`,
      });
    else if (isFields(value) && isFields(body[key])) body[key] = { ...value, ...body[key] };
    else body[key] ??= value;
  }
  return decisions;
}

function put(body: Record<string, unknown>, path: string, value: unknown): void {
  const [key = "", inner] = path.split(".");
  if (inner === undefined) body[key] = value;
  else body[key] = { ...(body[key] as Fields | undefined), [inner]: value };
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
