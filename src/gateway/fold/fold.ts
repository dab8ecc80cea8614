/** Decides which tools of a request stand behind a loader, and makes the fold of its list of tools. */

import { type Catalog, catalogOf } from "../../agent/catalog.ts";
import { type LoaderNames, loaderNames } from "../../agent/loader.ts";
import { section } from "../../agent/section.ts";
import { type Strategy, type ToolSupport, toolSupportOf } from "../../agent/strategy.ts";
import { fullName, identityKey, isCalledByName, joinedNames } from "../../tools/names/identity.ts";
import { ruleFor, type ToolVerdict } from "../../tools/plan/declare.ts";
import {
  buildToolCatalog,
  declarationsOf,
  declaredBy,
  type Entry,
  toolsetOf,
} from "../../tools/plan/toolset.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { clientName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Callable, FunctionTool, Tool, ToolChoice, ToolRef, Turn } from "../../turn/turn.ts";
import { type Group, groupTools } from "./group.ts";
import type { FoldedList } from "./question.ts";
import type { DisclosureSettings } from "./settings.ts";
import { toolBytes } from "./tool-size.ts";

/** A client's function that stands behind the loader. */
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

/** A client's tools as one upstream is shown them: some by themselves, the others behind a loader. */
export type Folded = {
  readonly strategy: Exclude<Strategy, "eager" | "restart">;
  readonly catalog: Catalog;
  readonly names: LoaderNames;
  /** By the catalogue's names. */
  readonly tools: ReadonlyMap<string, FoldedTool>;
  /** By the client's names (`identityKey`). */
  readonly byIdentity: ReadonlyMap<string, FoldedTool>;
  /** By other names that a model may write; null: several tools could be meant. */
  readonly aliases: ReadonlyMap<string, FoldedTool | null>;
  /** Tools that the request declares and does not allow, by `identityKey`: neither listed nor callable. */
  readonly forbidden: ReadonlySet<string>;
  /** The declarations that stay. */
  readonly direct: readonly Tool[];
  /** The client's path of each tool in `direct`, by its path there. */
  readonly paths: ReadonlyMap<string, string>;
  /** Folded tools that are declared all the same, because the request forces them. */
  readonly forced: ReadonlySet<string>;
  readonly choice: ToolChoice | undefined;
  /** Items of the conversation that held nothing but tools, which were taken out. */
  readonly emptied: ReadonlySet<number>;
  /** Results of searches whose tools were taken out. */
  readonly searches: ReadonlySet<number>;
  /** The verdicts on the tools that are not declared by themselves. */
  readonly deferred: readonly ToolVerdict[];
  /** The most tools of a request. */
  readonly max: number;
  /** The longest description of a tool. */
  readonly maxDescription: number;
  /** The bytes of all definitions. */
  readonly eagerBytes: number;
  /** The lists of tools that requests have been given, by the sections that were open. */
  readonly lists: Map<string, FoldedList>;
};

const supportOf = (profile: Profile): ToolSupport =>
  toolSupportOf(profile, ruleFor("tool_search", profile));

/**
 * The strategy for an upstream. The gateway does not see how a conversation goes
 * on, so tools are only added to the list if no prompt is cached, and never if
 * tools are fixed when a thread starts.
 */
export function strategyFor({ mode }: DisclosureSettings, profile: Profile): Folded["strategy"] {
  const { capabilities: can, supportsDynamicTools } = supportOf(profile);
  if (mode === "wrap" || mode === "append") return supportsDynamicTools ? mode : "wrap";
  if (can.deferred) return "native";
  return supportsDynamicTools && !can.cachedTools ? "append" : "wrap";
}

const isNever = ({ params }: Turn, { mode }: DisclosureSettings): boolean =>
  mode === "off" || mode === "eager" || (params.n ?? 1) > 1;

/** True if a turn could be folded for one of the profiles. Every request is asked this. */
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

const countTools = memoizeByIdentity((tools: readonly Tool[]): number => {
  let count = 0;
  for (const tool of tools) count += tool.type === "namespace" ? tool.tools.length : 1;
  return count;
});

/** True if the client has tools loaded by a search. */
const isSearching = ({ tools }: Turn): boolean =>
  tools.some((tool) => tool.type === "builtin" && tool.kind.startsWith("tool_search"));

/** The folds of each list of tools: agents send the same list for hours. */
const known = memoizeByIdentity<object, WeakMap<Profile, Map<string, Folded | null>>>(
  () => new WeakMap(),
);
/** The most choices and settings that are remembered with one list. */
const MAX_KNOWN = 64;

/** A request's tools as an upstream is to be shown them; undefined if they are shown as they are. */
export function foldTools(
  turn: Turn,
  profile: Profile,
  settings: DisclosureSettings,
): Folded | undefined {
  if (isNever(turn, settings)) return undefined;
  const byProfile = known(declarationsOf(turn));
  let made = byProfile.get(profile);
  if (made === undefined) byProfile.set(profile, (made = new Map()));
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
  const groups = chosen(candidates, profile, strategy);
  if (groups.length === 0 && candidates.forbidden.length === 0) return undefined;
  return assemble(turn, profile, { ...candidates, groups, strategy });
}

type Candidate = Entry & { readonly tool: FunctionTool };

/** The tools of a request, by what may become of them. */
export type Candidates = {
  /** Functions that may stand behind a loader. */
  readonly deferrable: readonly Candidate[];
  /** Tools that stay, in the order of the request. */
  readonly fixed: readonly Entry[];
  /** Tools that `allowed_tools` leaves out. */
  readonly forbidden: readonly Entry[];
  /** The tool that must be called, if it could be folded. */
  readonly forced: Candidate | undefined;
};

/**
 * Sorts the tools of a request. If a tool is declared twice, the first counts. Only functions can
 * be called through another function. A search of the client's has chosen its tools, so they
 * stay unless `takesFound` is set.
 */
export function candidatesIn(turn: Turn, profile: Profile, takesFound: boolean): Candidates {
  const deferrable: Candidate[] = [];
  const fixed: Entry[] = [];
  const forbidden: Entry[] = [];
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

const isFunction = (entry: Entry): entry is Candidate => entry.tool.type === "function";

/** True if the client asks for a tool to be loaded later, by the mark that all dialects share. */
const isMarked = ({ tool, group }: Candidate): boolean =>
  tool.extra?.fields["defer_loading"] === true || group?.extra?.fields["defer_loading"] === true;

/** Finds the tools that a choice means: by the exact name, else by a name that one tool alone has, else a namespace. */
function finderOf(entries: readonly Entry[]): (ref: ToolRef) => readonly Entry[] {
  const byName = new Map<string, Entry[]>();
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
  // A client that defers tools itself knows best what to load, if the upstream can load it.
  if (mode === "fit" || (searches && supportOf(profile).capabilities.deferred)) return false;
  if (deferrable.length === 0) return false;
  return (
    mode !== "auto" ||
    deferrable.length > thresholds.tools ||
    toolBytes(deferrable.map(({ tool }) => tool)) > thresholds.bytes ||
    (searches && deferrable.some(isMarked))
  );
}

/** Groups of so few tools are declared as they are: a line and a reading would cost as much. */
const FEW = 2;
/** The most tools in such groups. */
const MAX_FEW = 8;

/** The groups that stand behind the loader. */
function chosen(
  { deferrable, fixed }: Candidates,
  { tools: { max } }: Profile,
  strategy: Folded["strategy"],
): readonly Group<Candidate>[] {
  const room = max - fixed.length - (strategy === "wrap" ? 2 : 1);
  // If the client marks what may wait, the rest stays if there is room for it.
  const marked = deferrable.filter(isMarked);
  const isRest = marked.length > 0 && deferrable.length - marked.length <= room;
  const groups = groupTools(isRest ? marked : deferrable);
  const isFew = ({ members }: Group<Candidate>): boolean =>
    members.length <= FEW && !members.some(isMarked);
  const few = groups.filter(isFew).flatMap(({ members }) => members).length;
  // A list that grows needs room.
  const spare = strategy === "append" ? Math.floor(room / 2) : room;
  return few <= Math.min(spare, MAX_FEW) ? groups.filter((group) => !isFew(group)) : groups;
}

type Parts = Candidates & {
  /** The groups that stand behind the loader. */
  readonly groups: readonly Group<Candidate>[];
  readonly strategy: Folded["strategy"];
};

/** Makes the fold of a request: names, sections, the tools that stay, and the choice among them. */
function assemble(turn: Turn, profile: Profile, parts: Parts): Folded {
  const { groups, strategy, deferrable, fixed, forbidden, forced: chosenTool } = parts;
  const all = [...fixed, ...deferrable, ...forbidden];
  const behind = groups.flatMap(({ members }) => members);
  const taken = new Set<Entry>([...behind, ...forbidden]);
  const staying = all.filter((entry) => !taken.has(entry));
  const tools = nameTools(groups, new Set(staying.map(({ name }) => name)));
  const list = [...tools.values()];
  const names = loaderNames(new Set([...tools.keys(), ...all.map(({ name }) => String(name))]));
  const forced = list.filter(({ path }) => path === chosenTool?.path);
  return {
    ...directTools(turn, taken, isSearching(turn) && behind.length > 0),
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
 * The declarations that stay when some tools are taken out of a request, and
 * the client's paths of them. An item of the conversation that loses a tool is
 * no longer whole, so its other tools are declared with the rest.
 */
function directTools(
  turn: Turn,
  taken: ReadonlySet<Entry>,
  searches: boolean,
): Pick<Folded, "direct" | "paths" | "emptied" | "searches"> {
  const gone = new Set<Callable>([...taken].map(({ tool }) => tool));
  const direct: Tool[] = [];
  const paths = new Map<string, string>();
  const keep = (tool: Tool, path: string): void => {
    if (searches && isOwnSearch(tool)) return;
    const here = `tools[${direct.length}]`;
    if (tool.type !== "namespace") {
      if (gone.has(tool)) return;
      paths.set(here, path);
      direct.push(tool);
      return;
    }
    const members = [...tool.tools.entries()].filter(([, member]) => !gone.has(member));
    // A namespace that was empty before is reported as such.
    if (members.length === 0 && tool.tools.length > 0) return;
    paths.set(here, path);
    for (const [at, [place]] of members.entries())
      paths.set(`${here}.tools[${at}]`, `${path}.tools[${place}]`);
    const isWhole = members.length === tool.tools.length;
    const tools = members.map(([, member]) => member);
    direct.push(isWhole ? tool : { ...tool, tools, unreadable: undefined });
  };
  for (const [at, tool] of turn.tools.entries()) keep(tool, `tools[${at}]`);

  const emptied = new Set<number>();
  const found = new Set<number>();
  for (const [at, [entry]] of Map.groupBy(taken, ({ item }) => item)) {
    const item = at === undefined ? undefined : turn.items[at];
    const declared = item === undefined ? undefined : declaredBy(item);
    if (at === undefined || item === undefined || declared === undefined) continue;
    (item.type === "result" ? found : emptied).add(at);
    const first = entry?.path.replace(/\[\d+\](?:\.tools\[\d+\])?$/, "") ?? "";
    for (const [index, tool] of declared.tools.entries()) keep(tool, `${first}[${index}]`);
  }
  return { direct, paths, emptied, searches: found };
}

/** True for a provider's own search, which the loader takes the place of. */
const isOwnSearch = (tool: Tool): boolean =>
  tool.type === "builtin" &&
  tool.kind.startsWith("tool_search") &&
  tool.raw["execution"] !== "client";

/** The catalogue's name of each tool: its own name if no other tool has it, else with its namespace in front. */
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

/** The client's description of the namespace, and the names of the tools if no definitions follow. */
function bodyOf(
  members: readonly Candidate[],
  own: readonly FoldedTool[],
  strategy: Folded["strategy"],
): string {
  const group = members[0]?.group;
  const isShared = members.every((one) => one.group === group);
  const said = isShared ? (group?.description ?? "") : "";
  if (strategy !== "append") return said;
  const listed = `These tools can be called now: ${own.map(({ name }) => name).join(", ")}.`;
  return said === "" ? listed : `${said}\n\n${listed}`;
}

/** Other names that models write: with the namespace or section in front, or without a server's prefix. */
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

/** A forced tool is declared by itself; of a list of allowed tools the mode is left. */
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

const forbiddenVerdict = (entry: Entry): ToolVerdict => ({
  path: entry.path,
  kind: entry.kind,
  namespace: entry.namespace,
  name: entry.name,
  verdict: "deferred",
  reason: `\`${fullName(entry)}\` is not among the allowed tools, so it is not shown`,
});
