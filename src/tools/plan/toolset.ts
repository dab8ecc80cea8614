import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { clientName, upstreamName, type ClientName, type UpstreamName } from "../../turn/names.ts";
import { itemPath, toolPath } from "../../turn/path.ts";
import type { Profile } from "../../turn/profile.ts";
import type {
  Callable,
  Item,
  NamespaceTool,
  Tool,
  ToolDeclarations,
  Turn,
} from "../../turn/turn.ts";
import { allocateNames, type TakenNames } from "../names/allocate.ts";
import {
  aliasKey,
  ToolIdentityMap,
  fullName,
  identityKey,
  isCalledByName,
  type Bound,
} from "../names/identity.ts";
import {
  keepsGroups,
  planToolDeclaration,
  ruleFor,
  type Declared,
  type ToolVerdict,
} from "./declare.ts";
import type { ToolOffer } from "./tool-choice.ts";

/** One tool of a request, from the list of tools or from the conversation. */
export type CatalogEntry = {
  readonly path: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: ClientName;
  readonly tool: Callable;
  /** The namespace that declares it. */
  readonly group?: NamespaceTool | undefined;
  /** The item of the conversation that brought it; undefined for the list of tools. */
  readonly item?: number | undefined;
  /** 0 for the list of tools, else one more than the place of the item that brought it first. */
  readonly since: number;
};

type Catalog = {
  readonly entries: readonly CatalogEntry[];
  readonly emptyNamespaces: readonly { readonly path: string; readonly name: string }[];
  /** Declarations that cannot be read, with the item of the conversation that holds them. */
  readonly unreadable: readonly { readonly path: string; readonly item?: number | undefined }[];
};

/** Lists every tool that the model may be offered, from the list of tools and from the conversation. */
export function buildToolCatalog(turn: Pick<Turn, "traits" | "tools" | "items" | "body">): Catalog {
  const entries: CatalogEntry[] = [];
  const emptyNamespaces: { path: string; name: string }[] = [];
  const unreadable: { path: string; item?: number | undefined }[] = [];
  const add = (tool: Tool, path: string, item?: number): void => {
    if (tool.type !== "namespace") return void entries.push(entryOf(tool, path, item));
    if (tool.tools.length === 0) emptyNamespaces.push({ path, name: tool.name });
    for (const at of tool.unreadable ?? []) unreadable.push({ path: `${path}.tools[${at}]`, item });
    for (const [member, at] of withPlaces(tool))
      entries.push(entryOf(member, `${path}.tools[${at}]`, item, tool));
  };
  for (const [at, tool] of turn.tools.entries()) add(tool, toolPath(tool, at));
  for (const [item, carrier] of turn.items.entries()) {
    const declared = declaredBy(carrier);
    if (declared === undefined) continue;
    const path = `${itemPath(turn, item)}.tools`;
    for (const [tool, at] of withPlaces(declared)) add(tool, `${path}[${at}]`, item);
    for (const at of declared.unreadable ?? []) unreadable.push({ path: `${path}[${at}]`, item });
  }
  return { entries, emptyNamespaces, unreadable };
}

/** Tools with their places in the client's list, which also counts the unreadable ones. */
export function withPlaces<Member>({
  tools,
  unreadable = [],
}: ToolDeclarations<Member>): readonly (readonly [Member, number])[] {
  let skipped = 0;
  return tools.map((tool, at) => {
    while (unreadable[skipped] === at + skipped) skipped++;
    return [tool, at + skipped];
  });
}

/** The tools that an item of the conversation declares. */
export const declaredBy = (item: Item): ToolDeclarations | undefined =>
  item.type === "opaque" || item.type === "result" ? item.declares : undefined;

function entryOf(tool: Callable, path: string, item?: number, group?: NamespaceTool): CatalogEntry {
  const kind = tool.type === "builtin" ? tool.kind : tool.type;
  const name = clientName(tool.name === "" ? kind : tool.name);
  const since = item === undefined ? 0 : item + 1;
  return { path, kind, namespace: group?.name, name, tool, group, item, since };
}

/** The tools of a request as one upstream gets them: one record per list of tools and profile. */
export type Toolset = {
  readonly verdicts: readonly ToolVerdict[];
  readonly decisions: readonly Decision[];
  readonly identity: ToolIdentityMap;
  /** Every offered tool, including those that need no name. */
  readonly offered: readonly Bound[];
  readonly tools: readonly Tool<UpstreamName>[];
  readonly taken: TakenNames;
  /** Items of the conversation whose tools were moved to the list of tools. */
  readonly emptied: ReadonlySet<number>;
  readonly identical: boolean;
  /** The reason why the request cannot be sent. */
  readonly fault: Fault | undefined;
  /** The tools under each choice that requests have made, by the choice as JSON. */
  readonly offers: Map<string, ToolOffer>;
};

/** Agents send the same tools with every request, and equal lists are the same object. */
const toolsets = new WeakMap<object, WeakMap<Profile, Toolset>>();

export function toolsetOf(turn: Turn, profile: Profile): Toolset {
  const declarations = declarationsOf(turn);
  let known = toolsets.get(declarations);
  if (known === undefined) toolsets.set(declarations, (known = new WeakMap()));
  let set = known.get(profile);
  if (set === undefined) known.set(profile, (set = planToolset(turn, profile)));
  return set;
}

type Brought = WeakMap<readonly Tool[], object>;
const broughtBy = memoizeByIdentity<readonly Item[], Brought>(() => new WeakMap());

/**
 * An object that identifies the declarations of a turn: the list of tools, or, if
 * the conversation brings more tools, an object of this request.
 */
export function declarationsOf({ tools, items }: Pick<Turn, "tools" | "items">): object {
  for (const item of items) {
    if ((item.type !== "opaque" && item.type !== "result") || item.declares === undefined) continue;
    const brought = broughtBy(items);
    let both = brought.get(tools);
    if (both === undefined) brought.set(tools, (both = {}));
    return both;
  }
  return tools;
}

type Planned = {
  readonly entry: CatalogEntry;
  declared: Declared;
  /** The upstream's name, if the tool is offered. */
  name?: UpstreamName;
};

function planToolset(turn: Turn, profile: Profile): Toolset {
  const catalog = buildToolCatalog(turn);
  const decisions: Decision[] = [];
  const verdicts: ToolVerdict[] = [];
  const { first, repeated } = distinct(catalog.entries, decisions);
  const openStrict = turn.traits.openStrict === true && turn.dialect !== profile.dialect;
  const planned = first.map((entry): Planned => ({
    entry,
    declared: planToolDeclaration(entry, profile, openStrict),
  }));
  if (profile.tools.mixed === false) keepOneSort(planned);
  const taken = nameAll(planned, profile);
  const kept = keptItems(planned, profile);

  const offered: Bound[] = [];
  /** Items whose tools are moved to the list of tools, with the path of the first. */
  const emptied = new Map<number, string>();
  for (const { entry, declared, name: upstreamName } of planned) {
    const { path, kind, namespace, name, item } = entry;
    const { verdict, reason, offer } = declared;
    verdicts.push({ path, kind, namespace, name, verdict, upstreamName, reason });
    if (item !== undefined && !kept.has(item) && !emptied.has(item)) emptied.set(item, path);
    if (offer === undefined || upstreamName === undefined) {
      // A tool that is not loaded yet is not lost: the model finds it once the client loads it.
      decisions.push({ path, action: verdict === "deferred" ? "reshaped" : "dropped", reason });
      continue;
    }
    for (const made of offer.decisions) decisions.push({ path, ...made });
    // A member that is sent outside its namespace has another name in any case.
    if (upstreamName !== String(name) && (namespace === undefined || offer.group !== undefined))
      decisions.push({ path, action: "renamed", reason: `sent as \`${upstreamName}\`` });
    const { group, rest, form, original } = offer;
    // The result of the client's own search names the tools to the model.
    const isLoaded =
      profile.tools.deferred && item !== undefined && turn.items[item]?.type === "result";
    const declaration = { ...offer.tool, name: upstreamName };
    offered.push({
      path,
      client: { kind: offer.restoredAs ?? kind, namespace, name },
      upstream: { kind: offer.kind, namespace: group?.name, name: upstreamName },
      declaration:
        isLoaded && declaration.type === "function"
          ? { ...declaration, loaded: true }
          : declaration,
      group,
      rest,
      item: item !== undefined && kept.has(item) ? item : undefined,
      form,
      original,
    });
  }
  const reason = "tools from the conversation are sent in the list of tools";
  for (const path of emptied.values()) decisions.push({ path, action: "reshaped", reason });
  append(verdicts, repeated);
  append(verdicts, unusableVerdicts(catalog, emptied, profile, decisions));
  const isSame = ({ entry, declared }: Planned): boolean => declared.offer?.tool === entry.tool;
  const identical = decisions.length === 0 && planned.every(isSame);
  return {
    verdicts,
    decisions,
    identity: new ToolIdentityMap(callable(offered)),
    offered,
    // If no name differs, both kinds of name are the same.
    tools: identical
      ? (turn.tools as unknown as readonly Tool<UpstreamName>[])
      : renderProviderToolDeclarations(offered),
    taken,
    emptied: new Set(emptied.keys()),
    identical,
    fault: faultIn(turn, planned, offered.length, profile),
    offers: new Map(),
  };
}

/** Leaves out tools that the provider runs, if there are functions. */
function keepOneSort(planned: readonly Planned[]): void {
  const isBuiltin = ({ declared }: Planned): boolean => declared.offer?.tool.type === "builtin";
  if (!planned.some((one) => one.declared.offer !== undefined && !isBuiltin(one))) return;
  const reason = "the upstream does not take tools that it runs itself beside functions";
  for (const one of planned) if (isBuiltin(one)) one.declared = { verdict: "ignored", reason };
}

type Reasoned = Pick<Decision, "action" | "reason">;

/** Verdicts on namespaces without tools and on unreadable declarations. */
function unusableVerdicts(
  { emptyNamespaces, unreadable }: Catalog,
  emptied: ReadonlyMap<number, string>,
  profile: Profile,
  decisions: Decision[],
): ToolVerdict[] {
  const ignore = (path: string, kind: string, name: string, made: Reasoned): ToolVerdict => {
    decisions.push({ path, ...made });
    return { path, kind, name, verdict: "ignored", reason: made.reason };
  };
  // An upstream that keeps namespaces, or such items, gets them as they are.
  const bare = keepsGroups(profile) ? [] : emptyNamespaces;
  const isKept = ruleFor("additional_tools", profile) === "native";
  const odd = unreadable.filter(({ item }) => item === undefined || !isKept || emptied.has(item));
  const empty: Reasoned = { action: "repaired", reason: "the namespace has no tools" };
  const unread: Reasoned = { action: "dropped", reason: "it cannot be read as a tool" };
  return [
    ...bare.map(({ path, name }) => ignore(path, "namespace", name, empty)),
    ...odd.map(({ path }) => ignore(path, "unknown", "", unread)),
  ];
}

/** Entries without repeated tools. A tool that the conversation brings again replaces the earlier one. */
function distinct(
  entries: readonly CatalogEntry[],
  decisions: Decision[],
): { readonly first: readonly CatalogEntry[]; readonly repeated: readonly ToolVerdict[] } {
  const found = new Map<string, CatalogEntry>();
  const repeated: ToolVerdict[] = [];
  for (const entry of entries) {
    const key = identityKey(entry);
    const first = found.get(key);
    if (first === undefined) {
      found.set(key, entry);
      continue;
    }
    const isSame = JSON.stringify(first.tool) === JSON.stringify(entry.tool);
    const { path, kind, namespace, name, tool, item } = entry;
    // Tools of a provider may be declared more than once, with other settings.
    if (tool.type === "builtin" && !isSame) found.set(`${key}${path}`, entry);
    else if (item === undefined) {
      const reason = isSame
        ? `declared before, in \`${first.path}\``
        : `\`${first.path}\` declared the same tool first, in another form`;
      decisions.push({ path, action: isSame ? "repaired" : "dropped", reason });
      repeated.push({ path, kind, namespace, name, verdict: "ignored", reason });
    } else if (!isSame) found.set(key, { ...entry, path: first.path, since: first.since });
  }
  return { first: found.size === entries.length ? entries : [...found.values()], repeated };
}

/** Sets the upstream's name of every offered tool; returns all names that are taken. */
function nameAll(planned: readonly Planned[], profile: Profile): TakenNames {
  // A provider's own tools have fixed names, which no other tool may get.
  const fixed = new Set<string>();
  const named: Planned[] = [];
  for (const one of planned) {
    const { offer } = one.declared;
    if (offer === undefined) continue;
    const { tool, kind } = offer;
    if (tool.type === "builtin" && typeof tool.raw.name === "string") fixed.add(tool.raw.name);
    if (isCalledByName(kind)) named.push(one);
    else one.name = upstreamName(one.entry.name);
  }
  const taken: TakenNames = new Map([["", fixed]]);
  const requests = named.map(({ entry, declared }) => ({
    name: entry.name,
    ...(declared.offer?.group === undefined
      ? { prefix: entry.namespace }
      : { scope: entry.namespace }),
    rank: rankOf(entry),
  }));
  const names = allocateNames(requests, profile.tools.names, taken);
  for (const [at, one] of named.entries()) one.name = names[at] ?? upstreamName(one.entry.name);
  return taken;
}

/**
 * Names chosen by the client come before names made here. Tools of the
 * conversation yield to earlier ones, so that no name changes when another tool
 * arrives.
 */
function rankOf({ tool, namespace, since }: CatalogEntry): number {
  const age = since * 10;
  if (tool.type === "builtin") return age + 4;
  return age + (namespace === undefined ? 0 : 2) + (tool.type === "function" ? 0 : 1);
}

/** Items of the conversation that keep their tools. */
function keptItems(planned: readonly Planned[], profile: Profile): ReadonlySet<number> {
  const kept = new Set<number>();
  if (ruleFor("additional_tools", profile) !== "native") return kept;
  const broken = new Set<number>();
  for (const { entry, declared, name } of planned) {
    if (entry.item === undefined) continue;
    const isSame = declared.offer?.decisions.length === 0 && name === (entry.name as string);
    (isSame ? kept : broken).add(entry.item);
  }
  for (const item of broken) kept.delete(item);
  return kept;
}

/** The tools that calls can name, each once. */
function callable(offered: readonly Bound[]): readonly Bound[] {
  const seen = new Set<string>();
  return offered.filter(({ upstream }) => {
    if (isCalledByName(upstream.kind)) return true;
    const key = aliasKey(upstream);
    return !seen.has(key) && seen.add(key);
  });
}

/** The declarations that the upstream gets, with members gathered in the namespaces that are kept. */
export function renderProviderToolDeclarations(bounds: readonly Bound[]): Tool<UpstreamName>[] {
  const tools: Tool<UpstreamName>[] = [];
  const groups = new Map<NamespaceTool, Bound["declaration"][]>();
  for (const { declaration, group, item } of bounds) {
    if (item !== undefined) continue;
    if (group === undefined) {
      tools.push(declaration);
      continue;
    }
    let members = groups.get(group);
    if (members === undefined) {
      groups.set(group, (members = []));
      tools.push({ ...group, tools: members });
    }
    members.push(declaration);
  }
  return tools;
}

/** The reason why a request with these tools cannot be sent. */
function faultIn(
  { traits }: Turn,
  planned: readonly Planned[],
  count: number,
  profile: Profile,
): Fault | undefined {
  const refused = planned.find(({ declared }) => declared.verdict === "refused");
  if (refused !== undefined)
    return refusal(refused, "sent", "Leave it out or choose another model.");
  const { max } = profile.tools;
  if (count > max)
    return new Fault(
      "tools.too_many",
      `The ${profile.name} profile takes at most ${max} tools, and the request has ${count}. Declare fewer, choose another model, or raise \`capabilities.tools.max\` of the upstream if it takes more.`,
      { param: "tools" },
    );
  // A request whose only tools run at the provider cannot be answered without them.
  const [first] = planned;
  const areMissing = planned.every(
    ({ entry, declared }) => entry.tool.type === "builtin" && declared.verdict === "ignored",
  );
  if (traits.asksForHosted !== true || first === undefined || !areMissing) return undefined;
  const remedy =
    "The request has no other tool, so the model could only invent the tool's output; choose a model whose provider runs it.";
  return refusal(first, "run", remedy);
}

function refusal({ entry, declared }: Planned, what: "sent" | "run", remedy: string): Fault {
  const message = `\`${fullName(entry)}\` cannot be ${what}: ${declared.reason}. ${remedy}`;
  return new Fault("tools.refused", message, { param: entry.path });
}
