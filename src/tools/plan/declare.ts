import type { Decision } from "../../turn/decision.ts";
import { isFields, ownOf } from "../../json/json.ts";
import type { UpstreamName } from "../../turn/names.ts";
import {
  type BuiltinTemplate,
  type KindRule,
  type Profile,
  takesFrom,
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
import { wellFormed, type WellFormed } from "../../schema/well-formed.ts";
import type { Binding, ToolIdentityMap } from "../names/identity.ts";
import type { Form } from "../kinds/decoder.ts";
import { kindOf } from "../kinds/kinds.ts";
import { jsonForm } from "../schema/codec.ts";
import { compileSchema, isNeverObject } from "../schema/compile.ts";
import { isStrict } from "../schema/strict.ts";
import type { Entry } from "./toolset.ts";

/** A longer description is added to the first tool of a namespace only. */
const LONG = 300;

/**
 * A namespace is no tool but a group of them. Where an upstream has no such
 * groups, each member is a tool of its own under both names, and the description
 * of the group is added to its members'.
 */
function memberDescription(
  own: string | undefined,
  group: NamespaceTool,
  isFirst: boolean,
): string | undefined {
  const { name, description = "" } = group;
  if (description === "" || (description.length > LONG && !isFirst)) return own;
  const remark = `Part of \`${name}\`: ${description}`;
  return own === undefined || own === "" ? remark : `${own}\n\n${remark}`;
}

const GOES_ON = "(this goes on in the instructions)";

/** A description in two: as much as fits, up to a space if there is one, and the rest. */
function parted(description: string, most: number): { head: string; rest: string } {
  const room = description.slice(0, most - GOES_ON.length - 1);
  const space = room.search(/\s\S*$/);
  // Half a character is none.
  const bare = /[\ud800-\udbff]$/.test(room) ? room.slice(0, -1) : room;
  const head = space > 0 ? room.slice(0, space) : bare;
  return { head: `${head} ${GOES_ON}`, rest: description.slice(head.length).trim() };
}

/** The ends of descriptions that are too long for the upstream, for the instructions. */
export function restsOf(
  offered: readonly Bound[],
  sent: readonly Tool<UpstreamName>[],
): readonly string[] {
  const cut = offered.filter(({ rest }) => rest !== undefined);
  if (cut.length === 0) return [];
  const there = new Set(sent.flatMap((tool) => (tool.type === "namespace" ? tool.tools : [tool])));
  return cut
    .filter(({ declaration }) => there.has(declaration))
    .map(
      ({ upstream, rest }) => `The description of the tool \`${upstream.name}\` goes on:\n${rest}`,
    );
}

/** A built-in tool in an upstream's own form, and what of the client's did not fit. */
type Filled = {
  readonly raw: Fields;
  readonly losses: readonly string[];
  /** The fields of the client's that the form has a place for. */
  readonly used: ReadonlySet<string>;
};

/** Fills an upstream's form of a built-in tool with what the client asked for. */
function fillTemplate(template: BuiltinTemplate, asked: Fields): Filled {
  const losses: string[] = [];
  const used = new Set<string>();
  const fill = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(fill).filter((one) => one !== undefined);
    if (!isFields(value)) return value;
    if (typeof value.$from === "string") return take(value.$from, value);
    const entries = Object.entries(value).map(([key, inner]) => [key, fill(inner)] as const);
    const filled = entries.filter(([, inner]) => inner !== undefined);
    // A group for which the client said nothing is left out with what would stand in it.
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
      losses.push(`only one of ${at.length} in \`${path.slice(0, path.lastIndexOf("."))}\` fits`);
    at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[step] : undefined;
  }
  return at ?? undefined;
}

export type Verdict = "native" | "degraded" | "deferred" | "ignored" | "refused";

/** What became of one declared tool, in words for the client. */
export type ToolVerdict = {
  readonly path: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly verdict: Verdict;
  readonly upstreamName?: string | undefined;
  readonly reason: string;
};

/** A tool that is offered, under both its names. */
export type Bound = Binding & {
  readonly path: string;
  readonly declaration: Callable<UpstreamName>;
  /** The namespace it stays in at the upstream. */
  readonly group?: NamespaceTool | undefined;
  /** What its description had no room for. */
  readonly rest?: string | undefined;
  /** The item of the conversation it stays in. */
  readonly item?: number | undefined;
  /** How its calls' inputs change form; none where they do not. */
  readonly form?: Form | undefined;
  /** The client's own schema, where the upstream was given another. */
  readonly original?: JsonSchema | undefined;
};

export type Identities = ToolIdentityMap<Bound>;

/** What is to become of one tool. */
export type Declared = {
  readonly verdict: Verdict;
  readonly reason: string;
  /** What it is to the upstream; none if it is not offered. */
  readonly offer?: Offer | undefined;
};

type Offer = {
  /** A kind other than function and custom is known by itself and needs no name. */
  readonly kind: string;
  /** The kind of its calls, where they cannot be of the declared one. */
  readonly restoredAs?: string | undefined;
  readonly group?: NamespaceTool | undefined;
  readonly form?: Form | undefined;
  /** The client's own schema, where the upstream is given another that asks for less or otherwise. */
  readonly original?: JsonSchema | undefined;
  /** The tool that is sent, but for its name. */
  readonly tool: Callable;
  /** What its description has no room for. */
  readonly rest?: string | undefined;
  readonly decisions: readonly Pick<Decision, "action" | "reason">[];
};

/** How an upstream deals with a kind, by that name or the one it is a variant of. */
export function ruleFor(kind: string, { tools: { kinds } }: Profile): KindRule {
  const known = kindOf(kind);
  return ownOf(kinds, kind) ?? (known && kinds[known.kind]) ?? kinds["*"] ?? "ignore";
}

/** How an upstream deals with namespaces, for which few dialects have a form. */
function groupRuleFor(profile: Profile): KindRule {
  const rule = ruleFor("namespace", profile);
  return rule === "native" && profile.tools.namespaces !== true ? "degrade" : rule;
}

/** Whether tools stay in their namespaces on an upstream. */
export const keepsGroups = (profile: Profile): boolean => groupRuleFor(profile) === "native";

type Declaring = {
  /** Whether it is the first of its namespace. */
  readonly isFirst?: boolean;
  /** Whether `strict` holds for more schemas in the client's dialect than in the upstream's. */
  readonly openStrict?: boolean;
};

/** Decides what becomes of one tool on an upstream, and says why. */
export function planToolDeclaration(
  entry: Entry,
  profile: Profile,
  { isFirst = true, openStrict = false }: Declaring = {},
): Declared {
  const { kind, namespace } = entry;
  const rule = ruleFor(kind, profile);
  const groupRule = namespace === undefined ? "native" : groupRuleFor(profile);
  for (const [of, what] of [
    [rule, `${kind} tools`],
    [groupRule, "namespaces"],
  ] as const) {
    if (of === "refuse") return refused(what, profile);
    if (of === "ignore") return ignored(what, profile, kind);
  }
  if (isNotLoaded(entry, profile)) return { verdict: "deferred", reason: NOT_LOADED };
  const isNative = (rule === "native" && hasForm(entry, profile)) || isBetweenThem(entry, profile);
  const own = isNative ? declareNative(entry, profile, openStrict) : declareStandIn(entry, profile);
  return described(grouped(own, entry, groupRule, isFirst), profile);
}

const NOT_LOADED = "the client's own search has not loaded it yet";

/** A tool that the client loads later is none of an upstream's that cannot do so itself. */
const isNotLoaded = ({ tool }: Entry, { tools: { deferred } }: Profile): boolean =>
  tool.type === "function" && tool.deferred === true && !deferred;

/** Whether an upstream has a form for a tool as the client's dialect declares it. */
function hasForm({ tool, kind }: Entry, profile: Profile): boolean {
  if (tool.type !== "builtin" || kindOf(kind)?.isDialectBound !== true) return true;
  return takesFrom(tool.dialect, profile) || templateFor(tool, profile) !== undefined;
}

function templateFor(
  { kind, dialect }: BuiltinTool,
  { tools: { builtins = {}, foreign = {} }, dialect: spoken }: Profile,
): BuiltinTemplate | undefined {
  const name = kindOf(kind)?.kind ?? kind;
  const own = ownOf(builtins, name);
  if (own !== undefined || dialect === spoken) return own;
  return ownOf(ownOf(foreign, dialect) ?? {}, name);
}

function grouped(own: Declared, { group }: Entry, rule: KindRule, isFirst: boolean): Declared {
  if (own.offer === undefined || group === undefined) return own;
  if (rule === "native") return { ...own, offer: { ...own.offer, group } };
  return flattened(own, own.offer, group, isFirst);
}

/** A tool with no more of a description than the upstream takes. */
function described(own: Declared, { tools: { descriptions: most } }: Profile): Declared {
  const { offer } = own;
  if (most === undefined || offer === undefined || offer.tool.type === "builtin") return own;
  const { description = "" } = offer.tool;
  if (description.length <= most) return own;
  const { head, rest } = parted(description, most);
  const reason = `its description goes on in the instructions: the upstream takes ${most} characters`;
  return {
    ...own,
    offer: {
      ...offer,
      tool: { ...offer.tool, description: head },
      rest,
      decisions: [...offer.decisions, { action: "reshaped", reason }],
    },
  };
}

/** A tool we do not know, of a client that speaks the upstream's own language, is between the two. */
const isBetweenThem = ({ tool, kind }: Entry, profile: Profile): boolean =>
  tool.type === "builtin" && kindOf(kind) === undefined && tool.dialect === profile.dialect;

const refused = (what: string, profile: Profile): Declared => ({
  verdict: "refused",
  reason: `the ${profile.name} profile refuses ${what}`,
});

function ignored(what: string, profile: Profile, kind: string): Declared {
  const hosted = kindOf(kind)?.standIn === undefined && kind !== "function";
  const why = hosted && kindOf(kind) !== undefined ? "; only a provider can run it" : "";
  return { verdict: "ignored", reason: `the ${profile.name} profile has no ${what}${why}` };
}

/** Whatever name it goes by there, and however much of its description. */
const TAKEN = "the upstream takes it";

function declareNative({ tool, kind }: Entry, profile: Profile, openStrict: boolean): Declared {
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
    const lossDecisions = reasons.map((reason) => ({ action: "changed", reason }) as const);
    const reshaped = { action: "reshaped", reason: `sent as the upstream's own ${kind}` } as const;
    const offer = {
      kind,
      tool: { ...tool, dialect, raw },
      decisions: [reshaped, ...lossDecisions],
    };
    return { verdict: "native", reason: `the upstream has ${kind} in a form of its own`, offer };
  }
  const isOwn = takesFrom(tool.dialect, profile);
  if (!isOwn && kindOf(kind) === undefined)
    return {
      verdict: "ignored",
      reason: `${kind} is a tool that only the ${tool.dialect} dialect has`,
    };
  // The kinds we know are declared alike in every dialect that has them.
  const offer = { kind, tool: isOwn ? tool : { ...tool, dialect }, decisions: [] };
  return { verdict: "native", reason: TAKEN, offer };
}

/** What says the kind and the cost of a tool, and is no wish that could be lost. */
const idleFields = new Set(["type", "name", "cache_control"]);

/** What a client of another dialect asks of a tool and the upstream's form of it has no place for. */
const lostFields = ({ raw, dialect }: BuiltinTool, used: ReadonlySet<string>, to: Profile) =>
  to.tools.foreign?.[dialect] === undefined
    ? []
    : Object.keys(raw)
        .filter((key) => raw[key] != null && !used.has(key) && !idleFields.has(key))
        .map((key) => `\`${key}\` has no place there`);

const asItIs = (schema: JsonSchema): WellFormed<JsonSchema> => ({ schema, mended: [] });

const mendedWords = (words: readonly string[]): string =>
  `its schema has ${words.map((word) => `\`${word}\``).join(", ")} as JSON Schema 2020-12 does not, so it is written anew`;

/** An object that may leave properties out is refused by who holds models to closed ones. */
const OPEN_SCHEMA = "strict can be asked for only with closed objects that have all properties";

function declareFunction(tool: FunctionTool, profile: Profile, openStrict = false): Declared {
  const rule = profile.tools.schema ?? (isNeverObject(tool.schema ?? {}) ? {} : undefined);
  const decisions: Pick<Decision, "action" | "reason">[] = [];
  let sent = tool;
  let form: Form | undefined;
  let original: JsonSchema | undefined;
  if (rule?.strict === false && tool.strict === true) {
    sent = { ...sent, strict: undefined };
    decisions.push({ action: "changed", reason: "strict cannot be asked for" });
  }
  if (rule !== undefined && tool.schema !== undefined) {
    const read = rule.draft === undefined ? asItIs(tool.schema) : wellFormed(tool.schema);
    if (read.mended.length > 0)
      decisions.push({ action: "repaired", reason: mendedWords(read.mended) });
    const { schema, codec, reshaped, describedOnly } = compileSchema(read.schema, rule);
    if (schema !== tool.schema) sent = { ...sent, schema };
    if (codec !== undefined) form = jsonForm(codec);
    if (codec !== undefined || describedOnly.length > 0) original = tool.schema;
    for (const what of reshaped) decisions.push({ action: "reshaped", reason: `sends ${what}` });
    for (const what of describedOnly)
      decisions.push({ action: "changed", reason: `${what} is told in the description only` });
  }
  // Who sees its own schema refused for strictness can mend it, but not one that was made here.
  const mayBeRefused = openStrict || sent.schema !== tool.schema;
  if (mayBeRefused && sent.strict === true && !isStrict(sent.schema ?? {})) {
    sent = { ...sent, strict: undefined };
    original = tool.schema;
    decisions.push({ action: "changed", reason: OPEN_SCHEMA });
  }
  let reason = TAKEN;
  if (sent !== tool) reason = "offered without `strict`";
  if (sent.schema !== tool.schema) reason = "offered with a schema the upstream takes";
  const offer = { kind: "function", tool: sent, form, original, decisions };
  return { verdict: "native", reason, offer };
}

/** A function in place of a tool the upstream does not have. */
function declareStandIn({ tool, kind, name }: Entry, profile: Profile): Declared {
  const standIn = kindOf(kind)?.standIn;
  const what = `${kind} tools`;
  if (standIn === undefined) {
    if (kind === "function") return ignored(what, profile, kind);
    const why =
      kindOf(kind) === undefined ? "is a kind we do not know" : "runs at the provider only";
    return {
      verdict: "ignored",
      reason: `${kind} ${why}, and the ${profile.name} profile has none`,
    };
  }
  if (tool.type === "builtin" && kind === "tool_search" && tool.raw.execution === "server")
    return { verdict: "ignored", reason: "every deferred tool is offered at once instead" };
  const { description, schema, losses } = standIn.declare(tool);
  const { offer } = declareFunction({ type: "function", name, description, schema }, profile);
  if (offer === undefined) return ignored(what, profile, kind);
  const form = offer.form === undefined ? standIn : nested(standIn, offer.form);
  return {
    verdict: "degraded",
    reason: ["offered as a function that stands in for it", ...losses].join("; "),
    offer: {
      ...offer,
      form,
      // What the client is given is no call of a function.
      original: undefined,
      restoredAs: standIn.restoredAs,
      decisions: [
        { action: "reshaped", reason: `${kind} is sent as a function` },
        ...losses.map((reason) => ({ action: "changed", reason }) as const),
        ...offer.decisions,
      ],
    },
  };
}

/** A stand-in whose own arguments are rewritten too. */
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

/** A member of a namespace on its own. */
function flattened(own: Declared, offer: Offer, group: NamespaceTool, isFirst: boolean): Declared {
  const { tool } = offer;
  const described =
    tool.type === "builtin"
      ? tool
      : { ...tool, description: memberDescription(tool.description, group, isFirst) };
  const apart = `offered apart from its namespace \`${group.name}\`, with which its calls come back`;
  return {
    verdict: "degraded",
    reason: own.verdict === "native" ? apart : `${own.reason}; ${apart}`,
    offer: {
      ...offer,
      tool: described,
      decisions: [
        { action: "reshaped", reason: "sent apart from its namespace" },
        ...offer.decisions,
      ],
    },
  };
}
