/** Decides for one tool whether and how an upstream is offered it. */

import { isFields, ownOf } from "../../json/json.ts";
import { wellFormed } from "../../schema/well-formed.ts";
import type { Decision } from "../../turn/decision.ts";
import type { UpstreamName } from "../../turn/names.ts";
import {
  takesFrom,
  type BuiltinTemplate,
  type KindRule,
  type Profile,
} from "../../turn/profile.ts";
import type {
  BuiltinTool,
  Callable,
  Fields,
  FunctionTool,
  JsonSchema,
  NamespaceTool,
  Tool,
} from "../../turn/turn.ts";
import type { Form } from "../kinds/decoder.ts";
import { toolKindOf } from "../kinds/kinds.ts";
import type { Bound } from "../names/identity.ts";
import { jsonForm } from "../schema/codec.ts";
import { compileSchema, isNeverObject } from "../schema/compile.ts";
import { isStrict } from "../schema/strict.ts";
import type { CatalogEntry } from "./toolset.ts";

export type Verdict = "native" | "degraded" | "deferred" | "ignored" | "refused";

/** The decision on one declared tool, in words for the client. */
export type ToolVerdict = {
  readonly path: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly verdict: Verdict;
  readonly upstreamName?: string | undefined;
  readonly reason: string;
};

export type Declared = {
  readonly verdict: Verdict;
  readonly reason: string;
  /** Undefined if the tool is not offered. */
  readonly offer?: Offer | undefined;
};

type Reasoned = Pick<Decision, "action" | "reason">;

type Offer = Pick<Bound, "group" | "rest" | "form" | "original"> & {
  /** The upstream's kind. Kinds other than function and custom need no name. */
  readonly kind: string;
  /** The kind of its calls, if they cannot be of the declared one. */
  readonly restoredAs?: string | undefined;
  /** The tool that is sent, except for its name. */
  readonly tool: Callable;
  readonly decisions: readonly Reasoned[];
};

/** An upstream's rule for a kind, by that name or by the kind it is a variant of. */
export function ruleFor(kind: string, { tools: { kinds } }: Profile): KindRule {
  const known = toolKindOf(kind);
  return ownOf(kinds, kind) ?? (known && kinds[known.kind]) ?? kinds["*"] ?? "ignore";
}

/** An upstream's rule for namespaces. Few dialects have a form for them. */
function groupRuleFor(profile: Profile): KindRule {
  const rule = ruleFor("namespace", profile);
  return rule === "native" && profile.tools.namespaces !== true ? "degrade" : rule;
}

/** True if tools stay in their namespaces at the upstream. */
export const keepsGroups = (profile: Profile): boolean => groupRuleFor(profile) === "native";

/**
 * Decides what becomes of one tool at an upstream, and states why. `openStrict`: `strict` holds for
 * more schemas in the client's dialect than in the upstream's.
 */
export function planToolDeclaration(
  entry: CatalogEntry,
  profile: Profile,
  openStrict: boolean,
): Declared {
  const { tool, kind, namespace, group } = entry;
  const rule = ruleFor(kind, profile);
  const groupRule = namespace === undefined ? "native" : groupRuleFor(profile);
  for (const [of, what] of [
    [rule, `${kind} tools`],
    [groupRule, "namespaces"],
  ] as const) {
    if (of === "refuse")
      return { verdict: "refused", reason: `the ${profile.name} profile refuses ${what}` };
    if (of === "ignore") return missing(what, profile, kind);
  }
  if (tool.type === "function" && tool.deferred === true && !profile.tools.deferred)
    return { verdict: "deferred", reason: "the client's tool search has not loaded it yet" };
  const isNative = (rule === "native" && hasForm(tool, kind, profile)) || isShared(tool, profile);
  const own = isNative ? declareNative(entry, profile, openStrict) : declareStandIn(entry, profile);
  if (own.offer === undefined) return own;
  const grouped =
    group === undefined
      ? own
      : groupRule === "native"
        ? { ...own, offer: { ...own.offer, group } }
        : flattened(own, own.offer, group, group.tools[0] === tool);
  return shortened(grouped, grouped.offer ?? own.offer, profile);
}

/** True if an upstream has a form for a tool. Dialects with a `type` in tools declare most alike. */
function hasForm(tool: Callable, kind: string, profile: Profile): boolean {
  if (tool.type !== "builtin") return true;
  if (takesFrom(tool.dialect, profile) || templateFor(tool, profile) !== undefined) return true;
  return toolKindOf(kind)?.isDialectBound !== true && typeof tool.raw.type === "string";
}

/** True for an unknown tool of a client that speaks the upstream's own dialect: it is passed on. */
const isShared = (tool: Callable, profile: Profile): boolean =>
  tool.type === "builtin" &&
  toolKindOf(tool.kind) === undefined &&
  tool.dialect === profile.dialect;

function templateFor(
  { kind, dialect }: BuiltinTool,
  { tools: { builtins = {}, foreign = {} }, dialect: spoken }: Profile,
): BuiltinTemplate | undefined {
  const name = toolKindOf(kind)?.kind ?? kind;
  const own = ownOf(builtins, name);
  if (own !== undefined || dialect === spoken) return own;
  return ownOf(ownOf(foreign, dialect) ?? {}, name);
}

const ignored = (reason: string): Declared => ({ verdict: "ignored", reason });

function missing(what: string, profile: Profile, kind: string): Declared {
  const known = toolKindOf(kind);
  const isHosted = known !== undefined && known.standIn === undefined && kind !== "function";
  const why = isHosted ? "; only a provider can run it" : "";
  return ignored(`the ${profile.name} profile has no ${what}${why}`);
}

/** A reason that also covers a new name or a shorter description. */
const TAKEN = "the upstream accepts it";

function declareNative(
  { tool, kind }: CatalogEntry,
  profile: Profile,
  openStrict: boolean,
): Declared {
  if (tool.type === "function") return declareFunction(tool, profile, openStrict);
  if (tool.type === "builtin") return declareBuiltin(tool, profile);
  return { verdict: "native", reason: TAKEN, offer: { kind, tool, decisions: [] } };
}

function declareBuiltin(tool: BuiltinTool, profile: Profile): Declared {
  const { kind } = tool;
  const { dialect } = profile;
  const template = templateFor(tool, profile);
  if (template !== undefined) {
    const { raw, losses, used } = fillTemplate(template, tool.raw);
    const reasons = [...losses, ...lostFields(tool, used, profile)];
    const decisions: Reasoned[] = [
      { action: "reshaped", reason: `sent in the upstream's form of ${kind}` },
      ...reasons.map((reason): Reasoned => ({ action: "changed", reason })),
    ];
    const reason = `the upstream has ${kind} in another form`;
    const offer = { kind, tool: { ...tool, dialect, raw }, decisions };
    return { verdict: "native", reason, offer };
  }
  const isOwn = takesFrom(tool.dialect, profile);
  if (!isOwn && toolKindOf(kind) === undefined)
    return ignored(`${kind} exists only in the ${tool.dialect} dialect`);
  // Known kinds are declared alike in every dialect that has them.
  const offer = { kind, tool: isOwn ? tool : { ...tool, dialect }, decisions: [] };
  return { verdict: "native", reason: TAKEN, offer };
}

/** Fields whose loss changes nothing: they name the kind or concern the cost. */
const idleFields = new Set(["type", "name", "cache_control"]);

/** Reasons for fields that a client of another dialect set and that the upstream's form has no place for. */
const lostFields = ({ raw, dialect }: BuiltinTool, used: ReadonlySet<string>, to: Profile) =>
  to.tools.foreign?.[dialect] === undefined
    ? []
    : Object.keys(raw)
        .filter((key) => !isUnset(raw[key]) && !used.has(key) && !idleFields.has(key))
        .map((key) => `\`${key}\` does not exist in the upstream's form`);

/** True for the settings of a tool without any. */
const isUnset = (value: unknown): boolean =>
  value == null || (isFields(value) && Object.keys(value).length === 0);

type FilledTemplate = {
  readonly raw: Fields;
  /** Values of the client that did not fit. */
  readonly losses: readonly string[];
  /** The client's fields that the template uses. */
  readonly used: ReadonlySet<string>;
};

/** Fills an upstream's form of a built-in tool with the client's values. */
function fillTemplate(template: BuiltinTemplate, asked: Fields): FilledTemplate {
  const losses: string[] = [];
  const used = new Set<string>();
  const fill = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(fill).filter((one) => one !== undefined);
    if (!isFields(value)) return value;
    if (typeof value.$from === "string") return take(value.$from, value);
    const entries = Object.entries(value).map(([key, inner]) => [key, fill(inner)] as const);
    const filled = entries.filter(([, inner]) => inner !== undefined);
    // A group without any value of the client is left out.
    return entries.length > 0 && filled.length === 0 ? undefined : Object.fromEntries(filled);
  };
  const take = (path: string, { map, else: otherwise }: Fields): unknown => {
    used.add(path.split(".")[0] ?? path);
    const found = reach(asked, path, losses);
    if (found === undefined) return otherwise;
    return isFields(map)
      ? (map[typeof found === "string" ? found : JSON.stringify(found)] ?? otherwise)
      : found;
  };
  return { raw: (fill(template) ?? {}) as Fields, losses, used };
}

function reach(asked: Fields, path: string, losses: string[]): unknown {
  let at: unknown = asked;
  for (const step of path.split(".")) {
    if (Array.isArray(at) && at.length > Number(step) + 1)
      losses.push(
        `the upstream takes one entry of \`${path.slice(0, path.lastIndexOf("."))}\`, not ${at.length}`,
      );
    at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[step] : undefined;
  }
  return at ?? undefined;
}

/** Upstreams that hold models to closed objects refuse one that may leave properties out. */
const OPEN_SCHEMA =
  "the upstream supports `strict` only for closed objects that require all properties";

function declareFunction(tool: FunctionTool, profile: Profile, openStrict = false): Declared {
  const { schema: given } = tool;
  const rule = profile.tools.schema ?? (isNeverObject(given ?? {}) ? {} : undefined);
  const decisions: Reasoned[] = [];
  const decide = (action: Decision["action"], reason: string): void =>
    void decisions.push({ action, reason });
  let sent = tool;
  let form: Form | undefined;
  let original: JsonSchema | undefined;
  if (rule?.strict === false && tool.strict === true) {
    sent = { ...sent, strict: undefined };
    decide("changed", "the upstream does not support `strict`");
  }
  if (rule !== undefined && given !== undefined) {
    const read = rule.draft === undefined ? { schema: given, mended: [] } : wellFormed(given);
    if (read.mended.length > 0) {
      const words = read.mended.map((word) => `\`${word}\``).join(", ");
      decide(
        "repaired",
        `its schema has ${words} in a form that JSON Schema 2020-12 does not allow, so the gateway rewrote it`,
      );
    }
    const { schema, codec, reshaped, describedOnly } = compileSchema(read.schema, rule);
    if (schema !== given) sent = { ...sent, schema };
    if (codec !== undefined) form = jsonForm(codec);
    if (codec !== undefined || describedOnly.length > 0) original = given;
    for (const what of reshaped) decide("reshaped", `sends ${what}`);
    for (const what of describedOnly)
      decide("changed", `the upstream does not support ${what}, so only the description states it`);
  }
  // A client can correct its own schema if it is refused, but not one that was made here.
  const mayBeRefused = openStrict || sent.schema !== given;
  if (mayBeRefused && sent.strict === true && !isStrict(sent.schema ?? {})) {
    sent = { ...sent, strict: undefined };
    original = given;
    decide("changed", OPEN_SCHEMA);
  }
  let reason = TAKEN;
  if (sent !== tool) reason = "offered without `strict`";
  if (sent.schema !== given) reason = "offered with a schema that the upstream accepts";
  const offer = { kind: "function", tool: sent, form, original, decisions };
  return { verdict: "native", reason, offer };
}

/** Declares a function in place of a tool that the upstream does not have. */
function declareStandIn({ tool, kind, name }: CatalogEntry, profile: Profile): Declared {
  const standIn = toolKindOf(kind)?.standIn;
  if (standIn === undefined) {
    if (kind === "function") return missing(`${kind} tools`, profile, kind);
    const why = toolKindOf(kind) === undefined ? "is an unknown kind" : "runs only at the provider";
    return ignored(`${kind} ${why}, and the ${profile.name} profile does not support it`);
  }
  if (tool.type === "builtin" && kind === "tool_search" && tool.raw.execution === "server")
    return ignored("the upstream has no tool search, so every deferred tool is offered at once");
  const { description, schema, losses } = standIn.declare(tool);
  const { offer } = declareFunction({ type: "function", name, description, schema }, profile);
  if (offer === undefined) return missing(`${kind} tools`, profile, kind);
  return {
    verdict: "degraded",
    reason: ["the upstream has no tool of this kind, so a function replaces it", ...losses].join(
      "; ",
    ),
    offer: {
      ...offer,
      form: offer.form === undefined ? standIn : nested(standIn, offer.form),
      // The client gets a call of the original kind, which this schema does not describe.
      original: undefined,
      restoredAs: standIn.restoredAs,
      decisions: [
        { action: "reshaped", reason: `${kind} is sent as a function` },
        ...losses.map((reason): Reasoned => ({ action: "changed", reason })),
        ...offer.decisions,
      ],
    },
  };
}

/** The form of a stand-in whose arguments are also rewritten for the upstream's schema. */
const nested = (outer: Form, inner: Form): Form => ({
  encode: (input) => inner.encode(outer.encode(input)),
  decoder() {
    const [first, second] = [inner.decoder(), outer.decoder()];
    return {
      each: (text) => second.each(first.each(text)),
      end: (complete) => second.each(first.end(complete)) + second.end(complete),
      hasMore: () => second.hasMore?.() === true,
    };
  },
});

/** Descriptions of namespaces above this length are added to their first tool only. */
const MAX_REPEATED = 300;

/** Offers a member of a namespace under both names, with the namespace's description added to its own. */
function flattened(own: Declared, offer: Offer, group: NamespaceTool, isFirst: boolean): Declared {
  const { tool } = offer;
  const { name, description = "" } = group;
  const isDescribed = description !== "" && (description.length <= MAX_REPEATED || isFirst);
  const remark = isDescribed ? `Part of \`${name}\`: ${description}` : undefined;
  const described =
    tool.type === "builtin" || remark === undefined
      ? tool
      : { ...tool, description: tool.description ? `${tool.description}\n\n${remark}` : remark };
  const apart = `offered outside its namespace \`${name}\`; its calls get the namespace back`;
  return {
    verdict: "degraded",
    reason: own.verdict === "native" ? apart : `${own.reason}; ${apart}`,
    offer: {
      ...offer,
      tool: described,
      decisions: [{ action: "reshaped", reason: "sent outside its namespace" }, ...offer.decisions],
    },
  };
}

const CONTINUED = "(continued in the instructions)";

/** Cuts a description at the upstream's limit, at a space if possible; the rest goes to the instructions. */
function shortened(
  own: Declared,
  offer: Offer,
  { tools: { descriptions: most } }: Profile,
): Declared {
  if (most === undefined || offer.tool.type === "builtin") return own;
  const { description = "" } = offer.tool;
  if (description.length <= most) return own;
  const room = description.slice(0, most - CONTINUED.length - 1);
  const space = room.search(/\s\S*$/);
  // A surrogate pair must not be cut in half.
  const whole = /[\ud800-\udbff]$/.test(room) ? room.slice(0, -1) : room;
  const head = space > 0 ? room.slice(0, space) : whole;
  const reason = `the upstream accepts ${most} characters, so its description continues in the instructions`;
  return {
    ...own,
    offer: {
      ...offer,
      tool: { ...offer.tool, description: `${head} ${CONTINUED}` },
      rest: description.slice(head.length).trim(),
      decisions: [...offer.decisions, { action: "reshaped", reason }],
    },
  };
}

/** The ends of descriptions that were too long for the upstream, as text for the instructions. */
export function descriptionRests(
  offered: readonly Bound[],
  sent: readonly Tool<UpstreamName>[],
): readonly string[] {
  const cut = offered.filter(({ rest }) => rest !== undefined);
  if (cut.length === 0) return [];
  const isSent = new Set(sent.flatMap((tool) => (tool.type === "namespace" ? tool.tools : [tool])));
  return cut
    .filter(({ declaration }) => isSent.has(declaration))
    .map(
      ({ upstream, rest }) =>
        `The description of the tool \`${upstream.name}\` continues:\n${rest}`,
    );
}
