import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import { clientName, type ClientName, upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type {
  Callable,
  Item,
  NamespaceTool,
  Tool,
  ToolDeclarations,
  Turn,
} from "../../turn/turn.ts";
import { itemPath } from "../../turn/path.ts";
import {
  aliasKey,
  createIdentityMap,
  fullName,
  identityKey,
  isCalledByName,
} from "../names/identity.ts";
import { createProviderNameAllocator, type TakenNames } from "../names/allocate.ts";
import type { ToolChoicePlan } from "./tool-choice.ts";
import {
  type Bound,
  type Declared,
  type Identities,
  keepsGroups,
  planToolDeclaration,
  ruleFor,
  type ToolVerdict,
} from "./declare.ts";

/** One tool of a request, wherever it was declared. */
export type Entry = {
  /** Where the client finds it in its request. */
  readonly path: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: ClientName;
  readonly tool: Callable;
  /** The namespace it was declared in. */
  readonly group?: NamespaceTool | undefined;
  /** The item of the conversation that brought it; none if it stands in the list of tools. */
  readonly item?: number | undefined;
  /** 0 with the list of tools, else one more than the place of the item that brought it first. */
  readonly since: number;
};

type Catalog = {
  readonly entries: readonly Entry[];
  /** Namespaces that hold nothing. */
  readonly emptyNamespaces: readonly { readonly path: string; readonly name: string }[];
  /** Declarations that cannot be read, and the item of the conversation they stand in. */
  readonly unreadable: readonly { readonly path: string; readonly item?: number | undefined }[];
};

/** Every tool the model may be offered: those declared, and those that the conversation brought. */
export function buildToolCatalog(turn: Pick<Turn, "traits" | "tools" | "items" | "body">): Catalog {
  const entries: Entry[] = [];
  const emptyNamespaces: { path: string; name: string }[] = [];
  const unread: { path: string; item?: number | undefined }[] = [];
  const add = (tool: Tool, path: string, item?: number): void => {
    if (tool.type !== "namespace") return void entries.push(entryOf(tool, path, item));
    if (tool.tools.length === 0) emptyNamespaces.push({ path, name: tool.name });
    for (const at of tool.unreadable ?? []) unread.push({ path: `${path}.tools[${at}]`, item });
    for (const [member, at] of placed(tool))
      entries.push(entryOf(member, `${path}.tools[${at}]`, item, tool));
  };

  for (const [at, tool] of turn.tools.entries()) add(tool, `tools[${at}]`);
  for (const [item, carrier] of turn.items.entries()) {
    const declared = declaredBy(carrier);
    if (declared === undefined) continue;
    const path = `${itemPath(turn, item)}.tools`;
    for (const [tool, at] of placed(declared)) add(tool, `${path}[${at}]`, item);
    for (const at of declared.unreadable ?? []) unread.push({ path: `${path}[${at}]`, item });
  }
  return { entries, emptyNamespaces, unreadable: unread };
}

/** The tools of a list with their places in the client's, where those that cannot be read count too. */
function placed<Member>({
  tools,
  unreadable = [],
}: ToolDeclarations<Member>): readonly (readonly [Member, number])[] {
  let skipped = 0;
  return tools.map((tool, at) => {
    while (unreadable[skipped] === at + skipped) skipped++;
    return [tool, at + skipped];
  });
}

/** The tools that an item of the conversation declares, if it is of a kind that does. */
export const declaredBy = (item: Item): ToolDeclarations | undefined =>
  item.type === "opaque" || item.type === "result" ? item.declares : undefined;

export const bringsTools = (items: readonly Item[]): boolean =>
  items.some((item) => declaredBy(item) !== undefined);

function entryOf(tool: Callable, path: string, item?: number, group?: NamespaceTool): Entry {
  const kind = tool.type === "builtin" ? tool.kind : tool.type;
  const name = clientName(tool.name === "" ? kind : tool.name);
  const since = item === undefined ? 0 : item + 1;
  return { path, kind, namespace: group?.name, name, tool, group, item, since };
}

/** The declarations as the upstream is sent them: members gathered in the namespaces that are kept. */
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

/** The part of a plan that the tools and the profile decide: agents send the same for hours. */
export type Toolset = {
  readonly verdicts: readonly ToolVerdict[];
  readonly decisions: readonly Decision[];
  readonly identity: Identities;
  /** Every tool that is offered, those too that need no name. */
  readonly offered: readonly Bound[];
  readonly tools: readonly Tool<UpstreamName>[];
  readonly taken: TakenNames;
  /** Items of the conversation whose tools were taken out and declared with the rest. */
  readonly emptied: ReadonlySet<number>;
  readonly identical: boolean;
  /** What stands in the way of sending it; the first counts. */
  readonly faults: readonly Fault[];
  readonly toolChoices: Map<string, ToolChoicePlan>;
};

/** Known toolsets. */
const toolsets = memoizeByIdentity<object, WeakMap<Profile, Toolset>>(() => new WeakMap());

export function toolsetOf(turn: Turn, profile: Profile): Toolset {
  const known = toolsets(declarationsOf(turn));
  let set = known.get(profile);
  if (set === undefined) known.set(profile, (set = planToolset(turn, profile)));
  return set;
}

type Brought = WeakMap<readonly Tool[], object>;
const broughtBy = memoizeByIdentity<readonly Item[], Brought>(() => new WeakMap());

/**
 * An object that is the same for the same declarations: the list of tools, since
 * the dialects give the same array for the same tools. What the conversation
 * brings differs from request to request, but not within one.
 */
export function declarationsOf({ tools, items }: Pick<Turn, "tools" | "items">): object {
  if (!bringsTools(items)) return tools;
  const brought = broughtBy(items);
  let both = brought.get(tools);
  if (both === undefined) brought.set(tools, (both = {}));
  return both;
}

type Planned = { readonly entry: Entry; readonly declared: Declared };

function declareAll(entries: readonly Entry[], turn: Turn, profile: Profile): Planned[] {
  const openStrict = turn.traits.openStrict === true && turn.dialect !== profile.dialect;
  return entries.map((entry) => {
    const isFirst = entry.group?.tools[0] === entry.tool;
    return { entry, declared: planToolDeclaration(entry, profile, { isFirst, openStrict }) };
  });
}

function planToolset(turn: Turn, profile: Profile): Toolset {
  const catalog = buildToolCatalog(turn);
  const decisions: Decision[] = [];
  const verdicts: ToolVerdict[] = [];
  const { first, repeated } = distinct(catalog.entries, decisions);
  const planned = declareAll(first, turn, profile);
  const allocate = createProviderNameAllocator(profile.tools.names, undefined, fixedNames(planned));
  const names = nameAll(planned, allocate);
  const kept = keptItems(planned, names, profile);

  const offered: Bound[] = [];
  /** Items whose tools are taken out, and where the first of them stood. */
  const emptied = new Map<number, string>();
  for (const [at, { entry, declared }] of planned.entries()) {
    const name = names[at];
    const { path, kind, namespace } = entry;
    const { verdict, reason, offer } = declared;
    verdicts.push({ path, kind, namespace, name: entry.name, verdict, upstreamName: name, reason });
    if (entry.item !== undefined && !kept.has(entry.item) && !emptied.has(entry.item))
      emptied.set(entry.item, path);
    if (offer === undefined || name === undefined) {
      // One that is not loaded yet is not lost: the model finds it when the client brings it up.
      const action = verdict === "deferred" ? "reshaped" : "dropped";
      decisions.push({ path, action, reason });
      continue;
    }
    for (const made of offer.decisions) decisions.push({ path, ...made });
    // A member that stands apart from its namespace has another name anyway.
    if (name !== String(entry.name) && (namespace === undefined || offer.group !== undefined))
      decisions.push({ path, action: "renamed", reason: `sent as \`${name}\`` });
    const bound = bind(entry, offer, name, entry.item !== undefined && kept.has(entry.item));
    const isLoaded = profile.tools.deferred && isBroughtByResult(entry, turn);
    offered.push(isLoaded ? asLoaded(bound) : bound);
  }
  const reason = "tools that the conversation brings are declared with the others";
  for (const path of emptied.values()) decisions.push({ path, action: "reshaped", reason });
  append(verdicts, repeated);
  append(verdicts, unusableVerdicts(catalog, emptied, profile, decisions));
  const isSame = ({ entry, declared }: Planned): boolean => declared.offer?.tool === entry.tool;
  const identical = decisions.length === 0 && planned.every(isSame);
  return {
    verdicts,
    decisions,
    identity: createIdentityMap(callable(offered)),
    offered,
    // Where no name differs the two kinds of name are the same.
    tools: identical
      ? (turn.tools as unknown as readonly Tool<UpstreamName>[])
      : renderProviderToolDeclarations(offered),
    taken: allocate.taken(),
    emptied: new Set(emptied.keys()),
    identical,
    faults: [...faultsOf(planned, offered, profile), ...missingHosted(turn, planned)],
    toolChoices: new Map(),
  };
}

type Reasoned = Pick<Decision, "action" | "reason">;

/** Namespaces without tools and declarations without sense. */
function unusableVerdicts(
  { emptyNamespaces, unreadable }: Catalog,
  emptied: ReadonlyMap<number, string>,
  profile: Profile,
  decisions: Decision[],
): ToolVerdict[] {
  const stray = (
    tool: Pick<ToolVerdict, "path" | "kind" | "name">,
    made: Reasoned,
  ): ToolVerdict => {
    decisions.push({ path: tool.path, ...made });
    return { ...tool, verdict: "ignored", reason: made.reason };
  };
  // An upstream that has such things may make more of them.
  const bare = keepsGroups(profile) ? [] : emptyNamespaces;
  const isKept = ruleFor("additional_tools", profile) === "native";
  const odd = unreadable.filter(({ item }) => item === undefined || !isKept || emptied.has(item));
  const empty: Reasoned = { action: "repaired", reason: "the namespace holds no tools" };
  const senseless: Reasoned = { action: "dropped", reason: "it cannot be read as a tool" };
  return [
    ...bare.map(({ path, name }) => stray({ path, kind: "namespace", name }, empty)),
    ...odd.map(({ path }) => stray({ path, kind: "unknown", name: "" }, senseless)),
  ];
}

/** The entries without those that declare a tool again. What the conversation brings later is newer. */
function distinct(
  entries: readonly Entry[],
  decisions: Decision[],
): { readonly first: readonly Entry[]; readonly repeated: readonly ToolVerdict[] } {
  const found = new Map<string, Entry>();
  const repeated: ToolVerdict[] = [];
  let again = false;
  for (const entry of entries) {
    const key = identityKey(entry);
    const first = found.get(key);
    const same = first !== undefined && JSON.stringify(first.tool) === JSON.stringify(entry.tool);
    if (first === undefined || (isHosted(entry) && !same)) {
      found.set(first === undefined ? key : `${key}${entry.path}`, entry);
      continue;
    }
    again = true;
    if (entry.item !== undefined) {
      if (!same) found.set(key, { ...entry, path: first.path, since: first.since });
      continue;
    }
    const reason = same
      ? `declared again as it is in \`${first.path}\``
      : `\`${first.path}\` declares the same tool otherwise, and came first`;
    const { path, kind, namespace, name } = entry;
    decisions.push({ path, action: same ? "repaired" : "dropped", reason });
    repeated.push({ path, kind, namespace, name, verdict: "ignored", reason });
  }
  return { first: again ? [...found.values()] : entries, repeated };
}

/** Tools of the provider's may be given more than once, with other settings. */
const isHosted = ({ tool }: Entry): boolean => tool.type === "builtin";

/** The names that tools of the provider's own always have, so that no other tool may have them. */
function fixedNames(planned: readonly Planned[]): TakenNames | undefined {
  const names = planned.flatMap(({ declared: { offer } }) =>
    offer?.tool.type === "builtin" && typeof offer.tool.raw.name === "string"
      ? [offer.tool.raw.name]
      : [],
  );
  return names.length === 0 ? undefined : new Map([["", new Set(names)]]);
}

/** The name of every tool that is offered. */
function nameAll(
  planned: readonly Planned[],
  allocate: ReturnType<typeof createProviderNameAllocator>,
): readonly (UpstreamName | undefined)[] {
  const named = planned.filter(({ declared }) => isCalledByName(declared.offer?.kind));
  const names = allocate(
    named.map(({ entry, declared }) => ({
      name: entry.name,
      ...(declared.offer?.group === undefined
        ? { prefix: entry.namespace }
        : { scope: entry.namespace }),
      rank: rankOf(entry),
    })),
  );
  const given = new Map(named.map((one, at) => [one, names[at]]));
  return planned.map((one) =>
    one.declared.offer === undefined ? undefined : (given.get(one) ?? upstreamName(one.entry.name)),
  );
}

/**
 * Names that the client chose come before those that we make for it. Tools that
 * the conversation brings yield to those that were there before, so that a name
 * does not change when another tool arrives.
 */
function rankOf({ tool, namespace, since }: Entry): number {
  const age = since * 10;
  if (tool.type === "builtin") return age + 4;
  return age + (namespace === undefined ? 0 : 2) + (tool.type === "function" ? 0 : 1);
}

/** The items of the conversation that can be left as they are, with the tools in them. */
function keptItems(
  planned: readonly Planned[],
  names: readonly (UpstreamName | undefined)[],
  profile: Profile,
): ReadonlySet<number> {
  const kept = new Set<number>();
  if (ruleFor("additional_tools", profile) !== "native") return kept;
  const broken = new Set<number>();
  for (const [at, { entry, declared }] of planned.entries()) {
    if (entry.item === undefined) continue;
    const isSame = declared.offer?.decisions.length === 0 && names[at] === (entry.name as string);
    (isSame ? kept : broken).add(entry.item);
  }
  return new Set([...kept].filter((item) => !broken.has(item)));
}

function bind(
  entry: Entry,
  offer: NonNullable<Declared["offer"]>,
  name: UpstreamName,
  isKept: boolean,
): Bound {
  const { namespace, path } = entry;
  return {
    path,
    client: { kind: offer.restoredAs ?? entry.kind, namespace, name: entry.name },
    upstream: { kind: offer.kind, namespace: offer.group?.name, name },
    declaration: { ...offer.tool, name },
    group: offer.group,
    rest: offer.rest,
    item: isKept ? entry.item : undefined,
    form: offer.form,
    original: offer.original,
  };
}

/** Whether a search of the client's has found it: the model is told of it in the result. */
const isBroughtByResult = ({ item }: Entry, { items }: Turn): boolean =>
  item !== undefined && items[item]?.type === "result";

const asLoaded = (bound: Bound): Bound =>
  bound.declaration.type === "function"
    ? { ...bound, declaration: { ...bound.declaration, loaded: true } }
    : bound;

/** The tools that calls can be of, each once. */
function callable(offered: readonly Bound[]): readonly Bound[] {
  const seen = new Set<string>();
  return offered.filter(({ upstream }) => {
    if (isCalledByName(upstream.kind)) return true;
    const key = aliasKey(upstream);
    return !seen.has(key) && seen.add(key);
  });
}

function faultsOf(
  planned: readonly Planned[],
  offered: readonly Bound[],
  profile: Profile,
): readonly Fault[] {
  const faults = planned
    .filter(({ declared }) => declared.verdict === "refused")
    .map(
      ({ entry, declared }) =>
        new Fault(
          "tools.refused",
          `\`${fullName(entry)}\` cannot be sent: ${declared.reason}. Leave it out or choose another model.`,
          { param: entry.path },
        ),
    );
  const many = tooMany(offered.length, profile);
  return many === undefined ? faults : [...faults, many];
}

/** An answer to a request that is all about a tool of the provider's would be made up without it. */
function missingHosted({ traits }: Turn, planned: readonly Planned[]): readonly Fault[] {
  const [first] = planned;
  const areMissing = planned.every(
    ({ entry, declared }) => entry.tool.type === "builtin" && declared.verdict === "ignored",
  );
  if (traits.asksForHosted !== true || first === undefined || !areMissing) return [];
  const { entry, declared } = first;
  return [
    new Fault(
      "tools.refused",
      `\`${fullName(entry)}\` cannot be run: ${declared.reason}. There is no other tool, so an answer would only pretend to have used it; choose a model whose provider runs it.`,
      { param: entry.path },
    ),
  ];
}

function tooMany(count: number, profile: Profile): Fault | undefined {
  const { max } = profile.tools;
  if (count <= max) return undefined;
  return new Fault(
    "tools.too_many",
    `The ${profile.name} profile takes at most ${max} tools, and the request has ${count}. Declare fewer, choose another model, or raise \`capabilities.tools.max\` of the upstream if it takes more.`,
    { param: "tools" },
  );
}

/** Throws if there are more tools than the upstream takes. */
export function assertMaxTools(count: number, profile: Profile): void {
  const fault = tooMany(count, profile);
  if (fault !== undefined) throw fault;
}
