import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import type { DialectTraits } from "../../turn/dialect-traits.ts";
import { Fault } from "../../turn/fault.ts";
import { ownOf } from "../../json/json.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { isRawNumber, roundedNumber } from "../../json/exact.ts";
import type { AnyName } from "../../turn/names.ts";
import type { EffortRule, Profile } from "../../turn/profile.ts";
import type { DialectName, Fields, Params, Turn } from "../../turn/turn.ts";
import { fieldsOf } from "./loose.ts";
import { fieldsAt, flagAt, invalid, textAt } from "./shape.ts";

/** The rule for writing an effort for an upstream; undefined if it is written as it is. */
function effortRule(
  effort: string | undefined,
  { effort: rules }: Profile,
): EffortRule | undefined {
  if (effort === undefined || rules === undefined) return undefined;
  // An effort is a client's word, so `constructor` must not find an inherited property.
  return Object.hasOwn(rules, effort) ? rules[effort] : rules["*"];
}

/** Reads a value at a path of a request. Throws a Fault that names the path. */
type ReadValue = (value: unknown, path: string) => unknown;

type ParamRule = {
  readonly read: ReadValue;
  /** The default of all upstreams: nothing is lost if it is left out. */
  readonly idle?: unknown;
  /** Without the parameter the answer would be wrong, so the request is refused with this advice. */
  readonly vital?: string;
  /** The work of the gateway for upstreams without the parameter. */
  readonly done?: string;
  /** True if it changes cost or speed, never the answer. */
  readonly hint?: true;
  /** The parameter with the same meaning, or nearly (`approximate`), for upstreams without this one. */
  readonly nearest?: keyof Params;
  readonly approximate?: true;
  /** Members of a list that the gateway handles itself. */
  readonly met?: readonly string[];
};

const wholeAsked =
  "send the conversation itself in the request, as most clients do with `store: false`";
const fields: ReadValue = (value, path) => fieldsAt(value, path, "an object");
const any: ReadValue = (value) => value;

const texts: ReadValue = (value, path) => {
  if (!Array.isArray(value)) throw invalid(path, "must be an array of strings");
  const wrong = value.findIndex((one) => typeof one !== "string");
  if (wrong !== -1) throw invalid(`${path}[${wrong}]`, "must be a string");
  return value;
};

const stop: ReadValue = (value, path) => {
  if (typeof value === "string") return [value];
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
  throw invalid(path, "must be a string or an array of strings");
};

/** A number that would be rounded is kept as it was written, and JSON writes it as a number again. */
const number: ReadValue = (value, path) => {
  const isOne = typeof value === "number" || isRawNumber(value);
  if (isOne && isFinite(Number(roundedNumber(value)))) return value;
  throw invalid(path, "must be a number");
};

/** A whole number from `least` to `most`. */
const whole =
  (least: number, most = Infinity): ReadValue =>
  (value, path) => {
    if (!Number.isSafeInteger(value)) throw invalid(path, "must be a whole number");
    if (Number(value) > most) throw invalid(path, `must be ${most} at most`);
    if (Number(value) >= least) return value;
    throw invalid(path, least === 0 ? "must be 0 or more" : "must be more than 0");
  };
const count = whole(1);

/** One row per parameter of a request. The traits of a dialect have its path. */
export const params = {
  maxTokens: { read: count },
  temperature: { read: number, idle: 1 },
  topP: { read: number, idle: 1 },
  topK: { read: number },
  n: { read: whole(1, 128), idle: 1 },
  stop: { read: stop, done: "ends the answer there" },
  seed: { read: number },
  presencePenalty: { read: number, idle: 0 },
  frequencyPenalty: { read: number, idle: 0 },
  logitBias: { read: fields },
  logprobs: { read: whole(0) },
  parallelCalls: { read: flagAt, idle: true },
  maxCalls: { read: count },
  effort: { read: textAt },
  thinking: { read: textAt, nearest: "effort" },
  thinkingBudget: { read: count, nearest: "effort", approximate: true },
  reasoningSummary: { read: textAt },
  verbosity: { read: textAt, idle: "medium" },
  serviceTier: { read: textAt, idle: "auto" },
  store: { read: flagAt, idle: false },
  metadata: { read: fields },
  user: { read: textAt },
  safetyIdentifier: { read: textAt },
  cacheKey: { read: textAt, hint: true },
  cacheRetention: { read: textAt, hint: true },
  include: {
    read: texts,
    // Reasoning always reaches the client with the data that its upstream wants back.
    met: ["reasoning.encrypted_content"],
  },
  truncation: { read: textAt, idle: "disabled" },
  modalities: { read: texts, idle: ["text"] },
  audio: { read: fields },
  prediction: { read: fields },
  webSearch: { read: fields },
  previousResponse: { read: textAt, vital: wholeAsked },
  conversation: { read: any, vital: wholeAsked },
  background: { read: flagAt, idle: false, vital: "wait for the answer" },
  prompt: { read: fields, vital: "send its text itself in the request" },
  thread: { read: fields, vital: "send the whole conversation" },
  compaction: { read: fields, vital: "ask for a summary in words" },
  cachedContent: { read: textAt, vital: "send the content itself in the request" },
} as const satisfies { readonly [P in keyof Required<Params>]: ParamRule };

type ParamName = keyof Params;
/** The dialect that a request is written in. */
type WritingDialect = { readonly name: DialectName; readonly traits: DialectTraits };

const rules: { readonly [P in ParamName]-?: ParamRule } = params;

type Places = ReadonlyMap<string, ReadonlyMap<string, ParamName>>;

/** `top level key -> inner key or "" -> parameter`, for the requests of a dialect. */
const placesOf = memoizeByIdentity((traits: DialectTraits): Places => {
  const places = new Map<string, Map<string, ParamName>>();
  for (const paths of [traits.params, traits.olderParams ?? {}])
    for (const [name, path] of Object.entries(paths)) {
      const [key = "", inner = ""] = path.split(".");
      const group = places.get(key) ?? new Map<string, ParamName>();
      places.set(key, group.set(inner, name as ParamName));
    }
  return places;
});

/**
 * Divides a request body into known parameters and unknown fields. `null` is how clients say "not
 * set". The dialect reads the keys in `own` itself.
 */
export function readParams(
  traits: DialectTraits,
  body: Fields,
  own: ReadonlySet<string>,
): { params: Params; extra: Fields } {
  const known: Record<string, unknown> = {};
  const extra: Record<string, unknown> = {};
  const places = placesOf(traits);
  for (const key in body) {
    if (own.has(key)) continue;
    const value = body[key];
    const group = places.get(key);
    if (group === undefined && value !== undefined) keep(extra, key, value);
    if (group === undefined || value == null) continue;
    const name = group.get("");
    if (name === undefined) {
      const rest: Record<string, unknown> = {};
      for (const [inner, member] of Object.entries(fieldsAt(value, key, "an object"))) {
        const path = `${key}.${inner}`;
        const param = group.get(inner);
        if (param === undefined) {
          if (!own.has(path)) keep(rest, inner, member);
        } else if (member !== null) known[param] = rules[param].read(member, path);
      }
      if (Object.keys(rest).length > 0) extra[key] = rest;
      continue;
    }
    const read = rules[name].read(value, key);
    // If both names of a parameter are set, the newer one wins.
    if (traits.olderParams?.[name] !== key || known[name] === undefined) known[name] = read;
  }
  return { params: known, extra };
}

/** The path of a parameter in a dialect; its name here if the dialect has no such parameter. */
export const paramPath = (name: ParamName, { params: paths }: DialectTraits): string =>
  paths[name] ?? name;

/** The path of a parameter in the client's request. */
function askedPath<Name extends AnyName>(name: ParamName, { traits, body }: Turn<Name>): string {
  const path = paramPath(name, traits);
  const older = traits.olderParams?.[name];
  return older !== undefined && body[older] != null && body[path] == null ? older : path;
}

/** The path of a parameter at an upstream; undefined if it has no such parameter. */
function targetPath(
  name: ParamName,
  traits: DialectTraits | undefined,
  profile: Profile,
): string | undefined {
  const own = profile.params[name];
  return own === undefined ? traits?.params[name] : (own ?? undefined);
}

/** True if an upstream has a parameter. `traits` are the upstream's, if it speaks a dialect. */
export const takesParam = (
  name: ParamName,
  profile: Profile,
  traits: DialectTraits | undefined,
): boolean => targetPath(name, traits, profile) !== undefined;

/**
 * The parameters that a request sets, with their paths in the request and at the upstream. `traits`
 * are the upstream's, if it speaks a dialect. An effort without a parameter is set by other fields.
 */
export function listParams<Name extends AnyName>(
  turn: Turn<Name>,
  profile: Profile,
  traits: DialectTraits | undefined,
): { readonly path: string; readonly target: string | undefined }[] {
  return (Object.keys(turn.params) as ParamName[]).flatMap((name) => {
    if (turn.params[name] === undefined) return [];
    const rule = name === "effort" ? effortRule(turn.params.effort, profile) : undefined;
    const own = rule?.as === null ? undefined : targetPath(name, traits, profile);
    const target = own ?? Object.keys(rule?.fields ?? {})[0];
    return [{ path: askedPath(name, turn), target }];
  });
}

/** True if an upstream of the client's own dialect takes all of its parameters as they are. */
export function takesParams<Name extends AnyName>(turn: Turn<Name>, profile: Profile): boolean {
  for (const key in turn.params) {
    const name = key as ParamName;
    const own = profile.params[name];
    if (turn.params[name] === undefined) continue;
    if (name === "effort" && effortRule(turn.params.effort, profile) !== undefined) return false;
    if (!takesThinking(name, turn.params, profile)) return false;
    if (own !== undefined && own !== askedPath(name, turn)) return false;
  }
  return true;
}

/** True if a model takes the limits and the form of thinking that a request sets. */
function takesThinking(name: ParamName, said: Params, { thinking, maxTokens }: Profile): boolean {
  if (name === "maxTokens") return maxTokens === undefined || (said.maxTokens ?? 0) <= maxTokens;
  if (thinking === undefined) return true;
  if (name === "thinking") return thinking.forms.includes(said.thinking ?? "");
  if (name !== "effort" || said.effort === "none" || said.thinkingBudget !== undefined) return true;
  return thinking.efforts.includes(said.effort ?? "");
}

/** Writes the parameters as an upstream names them; what it has no parameter for becomes a decision. */
export function writeParams<Name extends AnyName>(
  turn: Turn<Name>,
  { name: dialect, traits }: WritingDialect,
  profile: Profile,
): { fields: Record<string, unknown>; decisions: Decision[] } {
  const written: Record<string, unknown> = {};
  const decisions: Decision[] = [];
  for (const [key, value] of Object.entries(turn.params)) {
    if (value === undefined) continue;
    const name = key as ParamName;
    const target = targetPath(name, traits, profile);
    const rule = name === "effort" ? effortRule(turn.params.effort, profile) : undefined;
    // A rule with a word is useless at an upstream that has no parameter for it.
    if (rule !== undefined && (target !== undefined || rule.as == null)) {
      const { as = turn.params.effort, fields: more = {}, changed } = rule;
      const own = turn.extra.dialect === dialect ? turn.extra.fields : {};
      for (const [field, set] of Object.entries(more))
        if (set !== null && own[field] == null) written[field] = set;
      const word = target === undefined ? undefined : (as ?? undefined);
      if (target !== undefined && word !== undefined) put(written, target, word);
      const reason =
        word === undefined
          ? "the upstream decides how much the model thinks"
          : `the ${profile.name} profile has nothing nearer than \`${word}\``;
      if (changed === true)
        decisions.push({ path: askedPath(name, turn), action: "changed", reason });
    } else if (target !== undefined) put(written, target, value);
    else append(decisions, dropped(askedPath(name, turn), rules[name], value, profile));
  }
  return { fields: written, decisions };
}

/** Adds the fields that an upstream wants in every request to `body`, where `set` does not hold them. */
export function addFields(
  body: Record<string, unknown>,
  { fields }: Profile,
  set: Fields = body,
): void {
  if (fields === undefined) return;
  for (const key in fields)
    if (ownOf(set, key) == null && fields[key] !== null) body[key] = fields[key];
}

function dropped(path: string, rule: ParamRule, value: unknown, profile: Profile): Decision[] {
  const lost = unmet(rule, value);
  if (isIdle(rule, lost)) return [];
  if (rule.nearest !== undefined)
    return rule.approximate === true
      ? [{ path, action: "changed", reason: `it is sent as the nearest ${rule.nearest}` }]
      : [];
  if (rule.vital !== undefined)
    throw new Fault(
      "request.unsupported",
      `\`${path}\` needs an upstream that has it, and the ${profile.name} profile does not. Leave it out, and ${rule.vital}.`,
      { param: path },
    );
  const none = `the ${profile.name} profile has no such parameter`;
  if (rule.done !== undefined)
    return [{ path, action: "reshaped", reason: `${none}; the gateway ${rule.done}` }];
  const reason = lost === value ? none : `${none} for ${[lost].flat().join(", ")}`;
  return [{ path, action: rule.hint === true ? "unused" : "dropped", reason }];
}

/** The part of a value that the gateway does not handle itself. */
function unmet({ met }: ParamRule, value: unknown): unknown {
  if (met === undefined || !Array.isArray(value)) return value;
  const rest = value.filter((member: unknown) => !met.includes(String(member)));
  return rest.length === value.length ? value : rest;
}

/** True if a value asks for nothing, as an empty list does. */
const isIdle = (rule: ParamRule, value: unknown): boolean =>
  (rule.idle !== undefined && JSON.stringify(rule.idle) === JSON.stringify(value)) ||
  (rule.vital === undefined && typeof value === "object" && Object.keys(value ?? {}).length === 0);

/** Unknown fields of the client: sent to upstreams of its dialect, else reported. */
export function writeExtra<Name extends AnyName>(
  turn: Turn<Name>,
  dialect: DialectName,
  body: Record<string, unknown>,
): Decision[] {
  const { dialect: from, fields: extra, hints = {} } = turn.extra;
  if (from !== dialect) {
    const lost = pathsOf(extra, turn.traits).map((path): Decision => ({
      path,
      action: "dropped",
      reason: "it is not known here, and the upstream speaks another dialect",
    }));
    const unused = Object.keys(hints).map((path): Decision => ({
      path,
      action: "unused",
      reason: "only upstreams of the client's own dialect take it",
    }));
    return [...lost, ...unused];
  }
  for (const [key, value] of [...Object.entries(extra), ...Object.entries(hints)]) {
    const own = ownOf(body, key);
    const [rest, group] = [fieldsOf(value), fieldsOf(own)];
    if (rest !== undefined && group !== undefined) body[key] = { ...rest, ...group };
    else if (own === undefined) keep(body, key, value);
  }
  return [];
}

/** The paths of unknown fields in the client's request; null is "not set". */
const pathsOf = (extra: Fields, from: DialectTraits): string[] =>
  Object.entries(extra).flatMap(([key, value]) => {
    const group = placesOf(from).has(key) ? fieldsOf(value) : undefined;
    if (group !== undefined) return pathsOf(group, from).map((inner) => `${key}.${inner}`);
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
