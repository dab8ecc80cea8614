import { z } from "zod";
import type { Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import { ownOf } from "../../turn/json.ts";
import type { AnyName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { DialectName, Fields, Params, Turn } from "../../turn/turn.ts";
import { effortRule, sayEffort } from "./effort.ts";
import { fieldsOf } from "./loose.ts";
import { shaped } from "./shape.ts";

type ParamRule = {
  /** Where each dialect keeps it; a dot goes into a group. None: the dialect has no word for it. */
  readonly chat?: string;
  readonly responses?: string;
  /** Another key under which chat says it. */
  readonly also?: string;
  readonly type: z.ZodType;
  /** What asks for no more than happens without it, so that nothing is lost where it is left out. */
  readonly idle?: unknown;
  /** Without it the answer would be to another question: refuse rather than drop, and say what to do instead. */
  readonly vital?: string;
  /** It bears on cost or speed, never on the answer. */
  readonly hint?: true;
  /** Members of a list that are seen to here, so that no upstream has to. */
  readonly met?: readonly string[];
};

const wholeAsked =
  "send the conversation itself in the request, as most clients do with `store: false`";
const text = z.string({ error: "must be a string" });
const texts = z.array(text, { error: "must be an array of strings" });
const flag = z.boolean({ error: "must be true or false" });
const number = z.number({ error: "must be a number" });
const whole = z.int({ error: "must be a whole number" });
const count = whole.positive({ error: "must be more than 0" });
const fields = z.record(z.string(), z.unknown(), { error: "must be an object" });

/** One row per scalar of a request: what the dialects call it. */
export const params = {
  maxTokens: {
    chat: "max_completion_tokens",
    also: "max_tokens",
    responses: "max_output_tokens",
    type: count,
  },
  temperature: { chat: "temperature", responses: "temperature", type: number, idle: 1 },
  topP: { chat: "top_p", responses: "top_p", type: number, idle: 1 },
  n: { chat: "n", type: count.max(128, { error: "must be 128 at most" }), idle: 1 },
  stop: {
    chat: "stop",
    type: z.union([text.transform((one) => [one]), texts], {
      error: "must be a string or an array of strings",
    }),
  },
  seed: { chat: "seed", type: number },
  presencePenalty: {
    chat: "presence_penalty",
    responses: "presence_penalty",
    type: number,
    idle: 0,
  },
  frequencyPenalty: {
    chat: "frequency_penalty",
    responses: "frequency_penalty",
    type: number,
    idle: 0,
  },
  logitBias: { chat: "logit_bias", type: fields },
  logprobs: {
    chat: "top_logprobs",
    also: "logprobs",
    responses: "top_logprobs",
    type: whole.nonnegative({ error: "must be 0 or more" }),
  },
  parallelCalls: {
    chat: "parallel_tool_calls",
    responses: "parallel_tool_calls",
    type: flag,
    idle: true,
  },
  maxCalls: { responses: "max_tool_calls", type: count },
  effort: { chat: "reasoning_effort", responses: "reasoning.effort", type: text },
  reasoningSummary: { responses: "reasoning.summary", type: text },
  verbosity: { chat: "verbosity", responses: "text.verbosity", type: text, idle: "medium" },
  serviceTier: { chat: "service_tier", responses: "service_tier", type: text, idle: "auto" },
  store: { chat: "store", responses: "store", type: flag, idle: false },
  metadata: { chat: "metadata", responses: "metadata", type: fields },
  user: { chat: "user", responses: "user", type: text },
  safetyIdentifier: { chat: "safety_identifier", responses: "safety_identifier", type: text },
  cacheKey: { chat: "prompt_cache_key", responses: "prompt_cache_key", type: text, hint: true },
  cacheRetention: {
    chat: "prompt_cache_retention",
    responses: "prompt_cache_retention",
    type: text,
    hint: true,
  },
  include: {
    responses: "include",
    type: texts,
    // Reasoning is given to the client with whatever its upstream wants back of it.
    met: ["reasoning.encrypted_content"],
  },
  truncation: { responses: "truncation", type: text, idle: "disabled" },
  modalities: { chat: "modalities", type: texts, idle: ["text"] },
  audio: { chat: "audio", type: fields },
  prediction: { chat: "prediction", type: fields },
  webSearch: { chat: "web_search_options", type: fields },
  previousResponse: { responses: "previous_response_id", type: text, vital: wholeAsked },
  conversation: { responses: "conversation", type: z.unknown(), vital: wholeAsked },
  background: { responses: "background", type: flag, idle: false, vital: "wait for the answer" },
  prompt: { responses: "prompt", type: fields, vital: "send its text itself in the request" },
} as const satisfies { readonly [P in keyof Required<Params>]: ParamRule };

type ParamName = keyof Params;
export type HttpDialect = "chat" | "responses";

const rules: { readonly [P in ParamName]-?: ParamRule } = params;

/** `top level key -> inner key or "" -> parameter`, for each dialect. */
const places: Record<HttpDialect, Map<string, Map<string, ParamName>>> = {
  chat: new Map(),
  responses: new Map(),
};
for (const [name, rule] of Object.entries(rules) as [ParamName, ParamRule][]) {
  place("chat", rule.chat, name);
  place("responses", rule.responses, name);
}
// The older word for the same thing. `logprobs` is a flag, and the dialect's own to read.
place("chat", params.maxTokens.also, "maxTokens");

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
      if (!own.has(key) && value !== undefined) keep(extra, key, value);
      continue;
    }
    if (value === null || value === undefined) continue;
    const name = group.get("");
    if (name === undefined) {
      const rest = readGroup(key, shaped(fields, value, key), group, own, known);
      if (Object.keys(rest).length > 0) extra[key] = rest;
      continue;
    }
    const read = shaped(rules[name].type, value, key);
    // Of two words for the same the newer one counts.
    if (rules[name].also !== key || known[name] === undefined) known[name] = read;
  }
  return { params: known, extra };
}

/** Puts what it knows of a group into `known`, and gives the rest. */
function readGroup(
  key: string,
  group: Fields,
  names: ReadonlyMap<string, ParamName>,
  own: ReadonlySet<string>,
  known: Record<string, unknown>,
): Fields {
  const rest: Record<string, unknown> = {};
  for (const [inner, value] of Object.entries(group)) {
    const path = `${key}.${inner}`;
    const name = names.get(inner);
    if (name === undefined) {
      if (!own.has(path)) keep(rest, inner, value);
    } else if (value !== null) known[name] = shaped(rules[name].type, value, path);
  }
  return rest;
}

/** What a dialect calls a parameter; our own word where it has none. */
export const paramPath = (name: ParamName, dialect: DialectName): string =>
  wordFor(name, dialect) ?? name;

const wordFor = (name: ParamName, dialect: DialectName): string | undefined =>
  dialect === "chat" || dialect === "responses" ? rules[name][dialect] : undefined;

/** Where the client finds a parameter in its own request. */
function askedPath<Name extends AnyName>(name: ParamName, turn: Turn<Name>): string {
  const path = paramPath(name, turn.dialect);
  const { also } = rules[name];
  return also !== undefined && turn.body[also] != null && turn.body[path] == null ? also : path;
}

/** Where an upstream wants a parameter; undefined if it has no word for it. */
function targetPath(name: ParamName, dialect: DialectName, profile: Profile): string | undefined {
  const own = profile.params[name];
  return own === undefined ? wordFor(name, dialect) : (own ?? undefined);
}

/** The parameters a request sets: where the client put them, and where its upstream wants them. */
export function listParams<Name extends AnyName>(
  turn: Turn<Name>,
  profile: Profile,
): { readonly path: string; readonly target: string | undefined }[] {
  return (Object.keys(turn.params) as ParamName[])
    .filter((name) => turn.params[name] !== undefined)
    .map((name) => ({
      path: askedPath(name, turn),
      target: saidAt(name, turn, profile),
    }));
}

/** Where an upstream is told a parameter; an effort without a word for it, where thinking is switched. */
function saidAt<Name extends AnyName>(
  name: ParamName,
  { params: { effort } }: Turn<Name>,
  profile: Profile,
): string | undefined {
  const rule = name === "effort" ? effortRule(effort, profile) : undefined;
  const target = rule?.as === null ? undefined : targetPath(name, profile.dialect, profile);
  return target ?? Object.keys(rule?.fields ?? {})[0];
}

/** Whether an upstream of the client's own dialect takes all of its parameters as they are. */
export function takesParams<Name extends AnyName>(turn: Turn<Name>, profile: Profile): boolean {
  for (const key in turn.params) {
    const name = key as ParamName;
    const own = profile.params[name];
    if (turn.params[name] === undefined) continue;
    if (name === "effort" && effortRule(turn.params.effort, profile) !== undefined) return false;
    if (own !== undefined && own !== askedPath(name, turn)) return false;
  }
  return true;
}

/** Writes the parameters in an upstream's words; what it has no word for becomes a decision. */
export function writeParams<Name extends AnyName>(
  turn: Turn<Name>,
  dialect: HttpDialect,
  profile: Profile,
): { fields: Record<string, unknown>; decisions: Decision[] } {
  const written: Record<string, unknown> = {};
  const decisions: Decision[] = [];
  for (const [key, value] of Object.entries(turn.params)) {
    if (value === undefined) continue;
    const name = key as ParamName;
    const target = targetPath(name, dialect, profile);
    const rule = name === "effort" ? effortRule(turn.params.effort, profile) : undefined;
    // A word for it says nothing to an upstream that has no place for one.
    if (rule !== undefined && (target !== undefined || rule.as == null)) {
      const path = askedPath(name, turn);
      const said = sayEffort(rule, { turn, dialect, profile, path, target });
      Object.assign(written, said.fields);
      if (target !== undefined && said.word !== undefined) put(written, target, said.word);
      decisions.push(...said.decisions);
    } else if (target !== undefined) put(written, target, value);
    else decisions.push(...dropped(askedPath(name, turn), rules[name], value, profile));
  }
  return { fields: written, decisions };
}

/** Says what an upstream must be told in every request, where nobody has said it. */
export function addFields(body: Record<string, unknown>, { fields }: Profile): void {
  if (fields === undefined) return;
  for (const key in fields)
    if (ownOf(body, key) == null && fields[key] !== null) body[key] = fields[key];
}

function dropped(path: string, rule: ParamRule, value: unknown, profile: Profile): Decision[] {
  const lost = unmet(rule, value);
  if (isIdle(rule, lost)) return [];
  if (rule.vital !== undefined)
    throw new Fault(
      "request.unsupported",
      `\`${path}\` needs an upstream that has it, and the ${profile.name} profile does not. Leave it out, and ${rule.vital}.`,
      { param: path },
    );
  const none = `the ${profile.name} profile has no such parameter`;
  const reason = lost === value ? none : `${none} for ${[lost].flat().join(", ")}`;
  return [{ path, action: rule.hint === true ? "unused" : "dropped", reason }];
}

/** What of a value is left for the upstream to do. */
function unmet({ met }: ParamRule, value: unknown): unknown {
  if (met === undefined || !Array.isArray(value)) return value;
  const rest = value.filter((member: unknown) => !met.includes(String(member)));
  return rest.length === value.length ? value : rest;
}

/** Whether a value asks for nothing, as an empty list does. */
const isIdle = (rule: ParamRule, value: unknown): boolean =>
  (rule.idle !== undefined && JSON.stringify(rule.idle) === JSON.stringify(value)) ||
  (rule.vital === undefined && typeof value === "object" && Object.keys(value ?? {}).length === 0);

/** What the client said and we did not understand: given back to its own dialect, else reported. */
export function writeExtra<Name extends AnyName>(
  turn: Turn<Name>,
  dialect: DialectName,
  body: Record<string, unknown>,
): Decision[] {
  const { dialect: from, fields: extra } = turn.extra;
  if (from !== dialect)
    return pathsOf(extra, from).map((path) => ({
      path,
      action: "dropped",
      reason: "it is not known here, and the upstream speaks another dialect",
    }));
  for (const [key, value] of Object.entries(extra)) {
    const own = ownOf(body, key);
    const [rest, group] = [fieldsOf(value), fieldsOf(own)];
    if (rest !== undefined && group !== undefined) body[key] = { ...rest, ...group };
    else if (own === undefined) keep(body, key, value);
  }
  return [];
}

/** Where the client finds what we did not understand; what it has not set is nowhere. */
const pathsOf = (extra: Fields, from: DialectName): string[] =>
  Object.entries(extra).flatMap(([key, value]) => {
    const group =
      (from === "chat" || from === "responses") && places[from].has(key) && fieldsOf(value);
    if (group) return pathsOf(group, from).map((inner) => `${key}.${inner}`);
    return value === null ? [] : [key];
  });

function put(body: Record<string, unknown>, path: string, value: unknown): void {
  const [key = "", inner] = path.split(".");
  if (inner === undefined) body[key] = value;
  else body[key] = { ...fieldsOf(body[key]), [inner]: value };
}

/** Sets a key that a client chose, which may be `__proto__`. */
const keep = (fields: Record<string, unknown>, key: string, value: unknown): void =>
  void Object.defineProperty(fields, key, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
