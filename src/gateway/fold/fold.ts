/** Decides which tools of a request are offered through a loader, and makes the sections, names and paths for that. */

import { type Catalog, catalogOf, section } from "../../agent/catalog.ts";
import { type LoaderNames, loaderNames } from "../../agent/lower.ts";
import { type Strategy, type ToolSupport, toolSupportOf } from "../../agent/strategy.ts";
import { fullName, identityKey, isCalledByName, joinedNames } from "../../tools/names/identity.ts";
import { ruleFor, type ToolVerdict } from "../../tools/plan/declare.ts";
import {
  buildToolCatalog,
  declarationsOf,
  declaredBy,
  type CatalogEntry,
  withPlaces,
  toolsetOf,
} from "../../tools/plan/toolset.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { clientName } from "../../turn/names.ts";
import { itemPath, toolPath } from "../../turn/path.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Callable, FunctionTool, Tool, ToolChoice, ToolRef, Turn } from "../../turn/turn.ts";
import { type Group, groupTools } from "./group.ts";
import type { FoldedList } from "./question.ts";
import type { DisclosureSettings } from "./settings.ts";
import { toolBytes } from "./tool-size.ts";

/** A client's function that is offered through the loader. */
export type FoldedTool = {
  /** The name in the catalogue. */
  readonly name: string;
  readonly client: Pick<FunctionTool, "name"> & { readonly namespace?: string | undefined };
  readonly tool: FunctionTool;
  /** The place in the client's request. */
  readonly path: string;
  /** The key of the section. */
  readonly section: string;
};

/** A client's tools as one upstream receives them: some are declared, the others are in sections. */
export type Folded = {
  readonly strategy: Exclude<Strategy, "eager" | "restart">;
  readonly catalog: Catalog;
  readonly names: LoaderNames;
  /** By the catalogue's names. */
  readonly tools: ReadonlyMap<string, FoldedTool>;
  /** By the client's names (`identityKey`). */
  readonly byIdentity: ReadonlyMap<string, FoldedTool>;
  /** By other names that a model may write; null: the name fits several tools. */
  readonly aliases: ReadonlyMap<string, FoldedTool | null>;
  /** Tools that the request declares and does not allow, by `identityKey`: neither listed nor callable. */
  readonly forbidden: ReadonlySet<string>;
  /** The tools that stay declared. */
  readonly direct: readonly Tool[];
  /** The client's paths of the tools in `direct` (`clientPath`). */
  readonly paths: ReadonlyMap<string, string>;
  /** Folded tools that are also declared, because the request forces them. */
  readonly forced: ReadonlySet<string>;
  readonly choice: ToolChoice | undefined;
  /** Items of the conversation whose tools were taken out: results of searches, and items that declare tools. */
  readonly stripped: ReadonlySet<number>;
  /** The verdicts on the tools that are not declared. */
  readonly deferred: readonly ToolVerdict[];
  /** The most tools of a request. */
  readonly max: number;
  /** The longest description of a tool. */
  readonly maxDescription: number;
  /** The bytes of all definitions, as if none were folded. */
  readonly eagerBytes: number;
  /** The lists of tools of earlier requests, by the open sections. */
  readonly lists: Map<string, FoldedList>;
};

const supportOf = (profile: Profile): ToolSupport =>
  toolSupportOf(profile, ruleFor("tool_search", profile));

/**
 * The strategy for an upstream. A longer list of tools invalidates a cached prompt, and the
 * gateway cannot know the length of a conversation: it adds tools to the list only for
 * upstreams without such a cache, and never if a thread keeps the tools of its start.
 */
export function strategyFor({ mode }: DisclosureSettings, profile: Profile): Folded["strategy"] {
  const { capabilities: can, supportsDynamicTools } = supportOf(profile);
  if (mode === "wrap" || mode === "append") return supportsDynamicTools ? mode : "wrap";
  if (can.deferred) return "native";
  return supportsDynamicTools && !can.cachedTools ? "append" : "wrap";
}

const isNever = ({ params }: Turn, { mode }: DisclosureSettings): boolean =>
  mode === "off" || mode === "eager" || (params.n ?? 1) > 1;

/** True if `foldTools` may fold a turn for one of the profiles: a cheap check for every request. */
export function mayFold(
  turn: Turn,
  profiles: readonly Profile[],
  settings: DisclosureSettings,
): boolean {
  const { mode, thresholds } = settings;
  if (isNever(turn, settings)) return false;
  const brings = declarationsOf(turn) !== turn.tools;
  let count = turn.tools.length === 0 ? 0 : countTools(turn.tools);
  if (brings) for (const item of turn.items) count += countTools(declaredBy(item)?.tools ?? []);
  if (count === 0) return false;
  for (const { tools } of profiles) if (count > tools.max) return true;
  if (mode === "fit") return false;
  if (mode !== "auto" || count > thresholds.tools || isSearching(turn)) return true;
  return brings || toolBytes(turn.tools) > thresholds.bytes;
}

export const countTools = memoizeByIdentity((tools: readonly Tool[]): number => {
  let count = 0;
  for (const tool of tools) count += tool.type === "namespace" ? tool.tools.length : 1;
  return count;
});

/** True if the request offers a tool search. */
const isSearching = ({ tools }: Turn): boolean =>
  tools.some((tool) => tool.type === "builtin" && tool.kind.startsWith("tool_search"));

/** The folds of each list of tools for each profile: agents send the same list for hours. */
const knownFolds = memoizeByIdentity((_tools: object) =>
  memoizeByIdentity((_profile: Profile) => new Map<string, Folded | null>()),
);
/** The most folds of one list for one profile, by choice and settings. */
const MAX_KNOWN = 64;

/** Folds a request's tools for an upstream; undefined if they are sent unfolded. */
export function foldTools(
  turn: Turn,
  profile: Profile,
  settings: DisclosureSettings,
): Folded | undefined {
  if (isNever(turn, settings)) return undefined;
  const made = knownFolds(declarationsOf(turn))(profile);
  const key = JSON.stringify([settings, turn.toolChoice, turn.dialect]);
  let found = made.get(key);
  if (found === undefined) {
    found = fold(turn, profile, settings) ?? null;
    if (made.size < MAX_KNOWN) made.set(key, found);
  }
  return found ?? undefined;
}

function fold(turn: Turn, profile: Profile, settings: DisclosureSettings): Folded | undefined {
  let candidates = candidatesIn(turn, profile, false);
  if (candidates.fixed.length + 2 > profile.tools.max)
    candidates = candidatesIn(turn, profile, true);
  if (!needsFolding(turn, profile, candidates, settings)) return undefined;
  const strategy = strategyFor(settings, profile);
  const groups = foldedGroups(candidates, profile, strategy);
  if (groups.length === 0 && candidates.forbidden.length === 0) return undefined;
  return assemble(turn, profile, { ...candidates, groups, strategy });
}

type Candidate = CatalogEntry & { readonly tool: FunctionTool };

/** The tools of a request, sorted for folding. */
export type Candidates = {
  /** Functions that may be folded. */
  readonly deferrable: readonly Candidate[];
  /** Tools that stay declared, in the order of the request. */
  readonly fixed: readonly CatalogEntry[];
  /** Tools that `allowed_tools` leaves out. */
  readonly forbidden: readonly CatalogEntry[];
  /** The tool that must be called, if it could be folded. */
  readonly forced: Candidate | undefined;
};

/**
 * Sorts the tools of a request. The first declaration of a tool wins. Only functions can be
 * called through another function. Tools that the client's own search found stay declared,
 * unless `takesFound` is set.
 */
export function candidatesIn(turn: Turn, profile: Profile, takesFound: boolean): Candidates {
  const deferrable: Candidate[] = [];
  const fixed: CatalogEntry[] = [];
  const forbidden: CatalogEntry[] = [];
  const { entries } = buildToolCatalog(turn);
  const { toolChoice: choice, items } = turn;
  const meant = finderOf(entries);
  const allowed = choice?.type === "allowed" ? new Set(choice.tools.flatMap(meant)) : undefined;
  const isNative = ruleFor("function", profile) === "native";
  const seen = new Set<string>();
  for (const entry of entries) {
    const key = identityKey(entry);
    const isNamed = isCalledByName(entry.kind);
    if (isNamed && seen.has(key)) continue;
    seen.add(key);
    const isFound = entry.item !== undefined && items[entry.item]?.type === "result";
    if (isNamed && allowed?.has(entry) === false) forbidden.push(entry);
    else if (isFunction(entry) && isNative && (takesFound || !isFound)) deferrable.push(entry);
    else fixed.push(entry);
  }
  const [chosen] = choice?.type === "tool" ? meant(choice.tool) : [];
  return { deferrable, fixed, forbidden, forced: deferrable.find((entry) => entry === chosen) };
}

const isFunction = (entry: CatalogEntry): entry is Candidate => entry.tool.type === "function";

/** True if the client marks a tool, or its namespace, with `defer_loading`. */
const isMarked = ({ tool, group }: Candidate): boolean =>
  tool.extra?.fields["defer_loading"] === true || group?.extra?.fields["defer_loading"] === true;

/** Finds the tools that a choice names: a whole namespace, the exact name, or a name that fits one tool alone. */
function finderOf(entries: readonly CatalogEntry[]): (ref: ToolRef) => readonly CatalogEntry[] {
  const byName = new Map<string, CatalogEntry[]>();
  for (const entry of entries)
    for (const name of [entry.name, ...joinedNames(entry.name, entry.namespace)]) {
      const named = byName.get(name);
      if (named === undefined) byName.set(name, [entry]);
      else named.push(entry);
    }
  const groups = Map.groupBy(entries, ({ namespace }) => namespace);
  return ({ kind, name, namespace }) => {
    if (kind === "namespace") return groups.get(name) ?? [];
    const named = byName.get(name) ?? [];
    const exact = named.filter((entry) => entry.name === name && entry.namespace === namespace);
    if (exact.length > 0) return exact;
    return namespace === undefined && named.length === 1 ? named : [];
  };
}

function needsFolding(
  turn: Turn,
  profile: Profile,
  { deferrable, fixed, forbidden }: Candidates,
  { mode, thresholds }: DisclosureSettings,
): boolean {
  const count = deferrable.length + forbidden.length;
  if (count === 0) return false;
  const { max } = profile.tools;
  if (count + fixed.length > max && toolsetOf(turn, profile).offered.length > max) return true;
  const searches = isSearching(turn);
  // A client that defers tools itself has chosen which to load; the upstream loads them.
  if (mode === "fit" || (searches && supportOf(profile).capabilities.deferred)) return false;
  if (deferrable.length === 0) return false;
  return (
    mode !== "auto" ||
    deferrable.length > thresholds.tools ||
    toolBytes(deferrable.map(({ tool }) => tool)) > thresholds.bytes ||
    (searches && deferrable.some(isMarked))
  );
}

/** Groups up to this size stay declared: a line in the catalogue and a reading would cost as much. */
const FEW = 2;
/** The most tools of all such groups together. */
const MAX_FEW = 8;

/** The groups that are folded. */
function foldedGroups(
  { deferrable, fixed }: Candidates,
  { tools: { max } }: Profile,
  strategy: Folded["strategy"],
): readonly Group<Candidate>[] {
  const room = max - fixed.length - (strategy === "wrap" ? 2 : 1);
  // If the client marks some tools with `defer_loading`, the others stay declared if they fit.
  const marked = deferrable.filter(isMarked);
  const isRest = marked.length > 0 && deferrable.length - marked.length <= room;
  const groups = groupTools(isRest ? marked : deferrable);
  const isFew = ({ members }: Group<Candidate>): boolean =>
    members.length <= FEW && !members.some(isMarked);
  const few = groups.filter(isFew).flatMap(({ members }) => members).length;
  // `append` adds the tools of opened sections to the list, which needs room.
  const spare = strategy === "append" ? Math.floor(room / 2) : room;
  return few <= Math.min(spare, MAX_FEW) ? groups.filter((group) => !isFew(group)) : groups;
}

type Parts = Candidates & {
  readonly groups: readonly Group<Candidate>[];
  readonly strategy: Folded["strategy"];
};

function assemble(turn: Turn, profile: Profile, parts: Parts): Folded {
  const { groups, strategy, deferrable, fixed, forbidden, forced: chosenTool } = parts;
  const all = [...fixed, ...deferrable, ...forbidden];
  const foldedEntries = groups.flatMap(({ members }) => members);
  const taken = new Set<CatalogEntry>([...foldedEntries, ...forbidden]);
  const staying = all.filter((entry) => !taken.has(entry));
  const tools = nameTools(groups, new Set(staying.map(({ name }) => name)));
  const list = [...tools.values()];
  const names = loaderNames(new Set([...tools.keys(), ...all.map(({ name }) => String(name))]));
  const forced = list.filter(({ path }) => path === chosenTool?.path);
  return {
    ...directTools(turn, taken, isSearching(turn) && foldedEntries.length > 0),
    strategy,
    catalog: catalogFor(groups, list, strategy),
    names,
    tools,
    byIdentity: new Map(list.map((one) => [identityKey({ kind: "function", ...one.client }), one])),
    aliases: aliasesOf(list),
    forbidden: new Set(forbidden.map(identityKey)),
    forced: new Set(forced.map(({ name }) => name)),
    choice: choiceFor(turn.toolChoice, forced),
    deferred: [
      ...list.map((one) => deferredVerdict(one, names.read)),
      ...forbidden.map(forbiddenVerdict),
    ],
    max: profile.tools.max,
    maxDescription: supportOf(profile).capabilities.maxDescription,
    eagerBytes: toolBytes(all.map(({ tool }) => tool)),
    lists: new Map(),
  };
}

/**
 * The tools that stay declared when some are taken out of a request, and the client's paths of
 * them. If an item of the conversation loses a tool, its other tools are declared in the list.
 */
function directTools(
  turn: Turn,
  taken: ReadonlySet<CatalogEntry>,
  dropsSearch: boolean,
): Pick<Folded, "direct" | "paths" | "stripped"> {
  const gone = new Set<Callable>([...taken].map(({ tool }) => tool));
  const direct: Tool[] = [];
  const paths = new Map<string, string>();
  const keep = (tool: Tool, path: string): void => {
    if (dropsSearch && isOwnSearch(tool)) return;
    const here = toolPath(tool, direct.length);
    const all = tool.type === "namespace" ? [...withPlaces(tool)] : [[tool, 0] as const];
    const left = all.filter(([member]) => !gone.has(member));
    // A namespace that the client sent empty stays, so that its decision is reported.
    if (left.length === 0 && all.length > 0) return;
    paths.set(here, path);
    if (tool.type !== "namespace" || left.length === all.length) return void direct.push(tool);
    for (const [at, [, place]] of left.entries())
      paths.set(`${here}.tools[${at}]`, `${path}.tools[${place}]`);
    direct.push({ ...tool, tools: left.map(([member]) => member), unreadable: undefined });
  };
  for (const [at, tool] of turn.tools.entries()) keep(tool, toolPath(tool, at));

  const stripped = new Set([...taken].flatMap(({ item }) => item ?? []));
  for (const at of stripped) {
    const item = turn.items[at];
    const declared = item === undefined ? undefined : declaredBy(item);
    if (declared === undefined) continue;
    const path = `${itemPath(turn, at)}.tools`;
    for (const [tool, index] of withPlaces(declared)) keep(tool, `${path}[${index}]`);
  }
  return { direct, paths, stripped };
}

/** True for a provider's tool search, which the loader replaces. */
const isOwnSearch = (tool: Tool): boolean =>
  tool.type === "builtin" &&
  tool.kind.startsWith("tool_search") &&
  tool.raw["execution"] !== "client";

/** The catalogue's name of each tool: its own name if that is unique, else with its namespace as a prefix. */
function nameTools(
  groups: readonly Group<Candidate>[],
  staying: ReadonlySet<string>,
): ReadonlyMap<string, FoldedTool> {
  const members = groups.flatMap(({ key, members: some }) => some.map((one) => ({ key, one })));
  const sameName = Map.groupBy(members, ({ one }) => String(one.name));
  const tools = new Map<string, FoldedTool>();
  for (const { key, one } of members) {
    const { name, namespace, path, tool } = one;
    const isOnly = sameName.get(name)?.length === 1 && !staying.has(name);
    const joint = namespace?.endsWith("__") === true ? "" : "__";
    const wanted = isOnly || namespace === undefined ? name : `${namespace}${joint}${name}`;
    let free: string = wanted;
    for (let number = 2; tools.has(free) || (staying.has(free) && free !== name); number++)
      free = `${wanted}_${number}`;
    const client = { name, ...(namespace !== undefined && { namespace }) };
    tools.set(free, { name: free, client, tool, path, section: key });
  }
  return tools;
}

function catalogFor(
  groups: readonly Group<Candidate>[],
  list: readonly FoldedTool[],
  strategy: Folded["strategy"],
): Catalog {
  const bySection = Map.groupBy(list, ({ section: key }) => key);
  return catalogOf(
    groups.map(({ key, title, members }) => {
      const own = bySection.get(key) ?? [];
      return section(key, {
        title,
        summary: () => title,
        body: () => bodyOf(members, own, strategy),
        tools: own.map(({ name, tool: { description = "", schema, strict } }) => ({
          name,
          description,
          schema: schema ?? { type: "object", properties: {} },
          strict,
        })),
      });
    }),
  );
}

/** The client's description of the namespace; with `append` also the names of the tools, whose definitions are in the list. */
function bodyOf(
  members: readonly Candidate[],
  own: readonly FoldedTool[],
  strategy: Folded["strategy"],
): string {
  const group = members[0]?.group;
  const isShared = members.every((one) => one.group === group);
  const text = isShared ? (group?.description ?? "") : "";
  if (strategy !== "append") return text;
  const listed = `These tools can be called now: ${own.map(({ name }) => name).join(", ")}.`;
  return text === "" ? listed : `${text}\n\n${listed}`;
}

/** Other names that models write: with the namespace or section as a prefix, or without a server's prefix. */
function aliasesOf(tools: readonly FoldedTool[]): Folded["aliases"] {
  const aliases = new Map<string, FoldedTool | null>();
  for (const tool of tools) {
    const { name, namespace } = tool.client;
    const [, bare] = /^mcp__.+?__(.+)$/s.exec(name) ?? [];
    const own = [name, `functions.${tool.name}`, `${tool.section}.${tool.name}`];
    const joined =
      namespace === undefined ? [] : [...joinedNames(name, namespace), namespace + name];
    for (const alias of [...own, ...(bare === undefined ? [] : [bare]), ...joined]) {
      const other = aliases.get(alias);
      aliases.set(alias, other === undefined || other === tool ? tool : null);
    }
  }
  return aliases;
}

/** A forced folded tool keeps its choice under the catalogue's name. Of `allowed` only the mode is left: other tools are not shown. */
function choiceFor(
  choice: ToolChoice | undefined,
  [forced]: readonly FoldedTool[],
): ToolChoice | undefined {
  if (choice?.type === "tool" && forced !== undefined)
    return { type: "tool", tool: { kind: "function", name: clientName(forced.name) } };
  return choice?.type === "allowed" ? { type: choice.mode } : choice;
}

const deferredVerdict = (
  { client, name, section: key, path }: FoldedTool,
  loader: string,
): ToolVerdict => ({
  path,
  kind: "function",
  ...client,
  verdict: "deferred",
  upstreamName: name,
  reason: `in the section \`${key}\`, which the model opens with \`${loader}\``,
});

const forbiddenVerdict = (entry: CatalogEntry): ToolVerdict => ({
  path: entry.path,
  kind: entry.kind,
  namespace: entry.namespace,
  name: entry.name,
  verdict: "deferred",
  reason: `\`${fullName(entry)}\` is not among the allowed tools, so it is not shown`,
});
