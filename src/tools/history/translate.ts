import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { DialectTraits } from "../../turn/dialect-traits.ts";
import { itemPath } from "../../turn/path.ts";
import { isSeal } from "../../turn/seal.ts";
import { type AnyName, upstreamName, type UpstreamName } from "../../turn/names.ts";
import { type Profile, takesFrom } from "../../turn/profile.ts";
import type { Call, Extra, Item, Opaque, Part, Reasoning, Result, Turn } from "../../turn/turn.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import { declaredBy, type Toolset } from "../plan/toolset.ts";
import { type Bound, type Identities, keepsGroups, ruleFor } from "../plan/declare.ts";
import { fullName, identityKey, isCalledByName } from "../names/identity.ts";
import { bareArguments, type Form } from "../kinds/decoder.ts";
import { kindOf } from "../kinds/kinds.ts";
import { createProviderNameAllocator } from "../names/allocate.ts";
import { type Destination, recallReasoning, sealedItems } from "../plan/reasoning.ts";
import { Draft, type History, type Notes } from "./repair.ts";

/**
 * Arguments as every upstream takes them: the text of a JSON object, the very
 * same where they are that already. Many refuse a conversation for good in which
 * a model once called without any, or wrote them wrongly.
 */
function asObject(text: string): string {
  const value = jsonOf(text);
  if (isFields(value)) return text;
  if (value === null || text.trim() === "") return "{}";
  if (value === undefined) return JSON.stringify({ unreadable: text });
  const bare = bareArguments(text);
  return isFields(jsonOf(bare)) ? bare : `{"value":${text}}`;
}

type TranslateOptions = {
  readonly profile: Profile;
  readonly destination: Destination;
  readonly notes: Notes;
};

/** What a past call is to the upstream. */
type Recast = { readonly upstream: Bound["upstream"]; readonly form?: Form | undefined };

/** One conversation on its way to an upstream. */
type TranslateContext = TranslateOptions & {
  readonly turn: Turn;
  readonly set: Toolset;
  readonly recast: (call: Call) => Recast | undefined;
  /** The kinds that calls are sent as, where it is another, by the call's id. */
  readonly kinds: Map<string, string>;
  /** Calls by the ids of their items, where a result may go by those. */
  readonly named: Map<string, string>;
  /** What reasoning carries for the calls behind it. */
  readonly carried: Map<string, Extra>;
  /** The ids of items that reasoning carries as they were. */
  readonly sealed: ReadonlySet<unknown>;
};

/**
 * Past calls under the names and in the forms that the upstream has for their tools,
 * with their results; and without items that only another dialect has.
 */
export function translate(turn: Turn, set: Toolset, to: TranslateOptions): History {
  // Where no name differs the two kinds of name are the same.
  const items = turn.items as readonly Item<AnyName>[] as readonly Item<UpstreamName>[];
  if (items.every(({ type }) => type === "message")) return { items, origins: undefined };
  const recast = recasting(turn, set, to.profile, to.notes);
  const sealed = turn.items.some(({ type }) => type === "opaque") ? sealedItems(turn.items) : none;
  const fresh = { kinds: new Map(), named: new Map(), carried: new Map(), sealed };
  const context: TranslateContext = { ...to, turn, set, recast, ...fresh };
  const draft = new Draft({ items, origins: undefined });
  turn.items.forEach((item, at) => {
    const sealed = sealedOwn(item, context);
    if (sealed !== undefined) return draft.add(sealed, at);
    if (item.type === "opaque" && context.sealed.has(item.raw.id ?? item.raw.tool_use_id)) return;
    const own = providerCall(item, to.profile);
    if (own === undefined) {
      const written = translateItem(item, at, context);
      if (written === item) draft.keep(at);
      else if (written !== undefined) draft.add(written as Item<UpstreamName>, at);
      return;
    }
    to.notes.note(itemPath(turn, at), "reshaped", MADE_ALONE);
    for (const one of own) {
      const written = translateItem(one, at, context);
      if (written !== undefined) draft.add(written as Item<UpstreamName>, at);
    }
  });
  return draft.history();
}

const none: ReadonlySet<unknown> = new Set();

/** What the provider worked on itself, as it was, where the client could only be shown it otherwise. */
function sealedOwn(item: Item, context: TranslateContext): Opaque | undefined {
  if (item.type !== "reasoning" || !isSeal(item.encrypted)) return undefined;
  const { turn, profile, destination } = context;
  const { own } = recallReasoning(item, turn, profile, destination);
  return own !== undefined && takesFrom(own.dialect, profile) ? own : undefined;
}

const MADE_ALONE =
  "what the provider called itself is told as a call of a function, with its result";

/** What a provider called by itself, for upstreams to which that says nothing. */
function providerCall(item: Item, profile: Profile): readonly [Call, Result] | undefined {
  if (item.type !== "opaque" || takesFrom(item.dialect, profile)) return undefined;
  const [, kind] = /^(.+)_call$/.exec(String(item.raw.type)) ?? [];
  return kind === undefined ? undefined : kindOf(kind)?.ownCall?.(item.raw);
}

function translateItem(
  item: Item,
  at: number,
  context: TranslateContext,
): Item | Item<UpstreamName> | undefined {
  switch (item.type) {
    case "call":
      return translateToCall(item, at, context);
    case "result":
      return translateToResult(item, context);
    case "opaque":
      return keepOpaque(item, at, context);
    case "reasoning":
      return recall(item, at, context);
    default:
      return item;
  }
}

function translateToCall(
  item: Call,
  at: number,
  context: TranslateContext,
): Call | Call<UpstreamName> {
  const { recast, kinds, named, carried } = context;
  const call = withArguments(translateCall(item, recast(item)), at, context);
  if (call.kind !== item.kind) kinds.set(item.id, call.kind);
  if (item.kind === "local_shell" && item.itemId !== undefined && item.itemId !== item.id)
    named.set(item.itemId, item.id);
  const extra = carried.get(item.id);
  return extra === undefined ? call : { ...call, extra };
}

function withArguments<Told extends Call | Call<UpstreamName>>(
  call: Told,
  at: number,
  { turn, notes }: TranslateContext,
): Told {
  const input = call.kind === "function" ? asObject(call.input) : call.input;
  if (input === call.input) return call;
  const reason = "a call's arguments are an object; those that were not are sent in one";
  notes.note(itemPath(turn, at), "repaired", reason);
  return { ...call, input };
}

function translateToResult(item: Result, { named, kinds, profile, set }: TranslateContext): Result {
  // Some clients name a shell's call by the id of the item that made it.
  const call = named.get(item.call) ?? item.call;
  const kind = kinds.get(call) ?? upstreamKind(item.kind, profile);
  if (kind === item.kind) return item;
  return translateResult(call === item.call ? item : { ...item, call }, kind, set);
}

function recall(item: Reasoning, at: number, context: TranslateContext): Reasoning | undefined {
  if (item.encrypted === undefined) return item;
  const { turn, profile, destination, notes, carried } = context;
  const { item: own, loss, calls } = recallReasoning(item, turn, profile, destination);
  if (loss !== undefined) notes.note(itemPath(turn, at), "dropped", loss);
  for (const [id, extra] of Object.entries(calls ?? {})) carried.set(id, extra);
  return own;
}

function keepOpaque(item: Opaque, at: number, context: TranslateContext): Opaque | undefined {
  const { turn, set, profile, notes } = context;
  if (set.emptied.has(at)) return undefined;
  if (takesFrom(item.dialect, profile)) return item;
  // Its tools are in the catalog, and what becomes of them is reported there.
  if (declaredBy(item) !== undefined) return undefined;
  const { type } = item.raw;
  const what = typeof type === "string" ? `${type} items` : "items without a type";
  notes.note(itemPath(turn, at), "dropped", `${what} are unknown to the upstream`);
  return undefined;
}

function translateCall(call: Call, recast: Recast | undefined): Call | Call<UpstreamName> {
  if (recast === undefined) return call;
  const { kind, namespace, name } = recast.upstream;
  const input = recast.form === undefined ? call.input : recast.form.encode(call.input);
  const isSame =
    kind === call.kind &&
    name === (call.name as string) &&
    namespace === call.namespace &&
    input === call.input;
  if (isSame) return call;
  // What else the client's kind of call held has no place in another kind.
  const extra = kind === call.kind ? call.extra : undefined;
  return { ...call, kind, namespace, name, input, extra };
}

function translateResult(result: Result, kind: string, set: Toolset): Result {
  const standIn = kindOf(result.kind)?.standIn;
  const answer = standIn?.answer?.(result, namesBrought(result, set)) ?? result.parts;
  const parts = withLoads(answer, result, set);
  return { ...result, kind, parts, extra: undefined };
}

const offeredIn = memoizeByIdentity(
  ({ offered }: Toolset): ReadonlySet<string> =>
    new Set(offered.map(({ upstream }) => String(upstream.name))),
);

/** The words about tools that were found, with the names of those that are offered. */
function withLoads(parts: readonly Part[], result: Result, set: Toolset): readonly Part[] {
  if (result.declares === undefined) return parts;
  const offered = offeredIn(set);
  const loads = namesBrought(result, set).filter((name) => offered.has(name));
  if (loads.length === 0) return parts;
  return parts.map((part, at) => (at === 0 && part.type === "text" ? { ...part, loads } : part));
}

function namesBrought(result: Result, { identity }: Toolset): readonly string[] {
  return (result.declares?.tools ?? []).flatMap((tool) => {
    const [namespace, members] =
      tool.type === "namespace" ? [tool.name, tool.tools] : [undefined, [tool]];
    return members.map(({ name }) =>
      String(identity.byName(name, namespace)?.upstream.name ?? name),
    );
  });
}

const upstreamKind = (kind: string, profile: Profile): string =>
  ruleFor(kind, profile) === "native" || kindOf(kind)?.standIn === undefined ? kind : "function";

/**
 * The tool that a past call is of, perhaps under another kind. One that was not
 * called by name has no other; and some dialects call a built-in tool a function.
 */
function toolOf(
  call: Call,
  identity: Identities,
  { builtinsAsFunctions }: DialectTraits,
): Bound | undefined {
  const exact = identity.byIdentity(call);
  if (exact !== undefined || !isCalledByName(call.kind)) return exact;
  const bound = identity.byName(call.name, call.namespace);
  return builtinsAsFunctions || isCalledByName(bound?.client.kind) ? bound : undefined;
}

/** Whether a call has the form that its tool's calls have now. */
const isOfKind = (call: Call, { client }: Bound): boolean =>
  call.kind === client.kind || !isCalledByName(client.kind);

/** Whether the kind that a call is to be sent as has a form for its result too. */
function hasForm(call: Call, { upstream }: Bound, { items }: Turn): boolean {
  const { takesAnswer } = kindOf(upstream.kind) ?? {};
  if (takesAnswer === undefined || call.kind === upstream.kind) return true;
  const answers = answersIn(items).get(call.id) ?? [];
  return answers.every(({ parts }) => takesAnswer(joinTexts(parts)));
}

const answersIn = memoizeByIdentity((items: readonly Item[]) =>
  Map.groupBy(
    items.filter((item) => item.type === "result"),
    ({ call }) => call,
  ),
);

const joinTexts = (parts: readonly Part[]): string =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** A call of a tool that was of another kind when it was called. */
function inOwnKind(call: Call, { upstream }: Bound, profile: Profile): Recast {
  const kind = upstreamKind(call.kind, profile);
  const form = kind === call.kind ? undefined : kindOf(call.kind)?.standIn;
  return { upstream: { ...upstream, kind }, form };
}

/** Finds what a past call is to the upstream, also where its tool is no longer declared. */
function recasting(
  turn: Turn,
  set: Toolset,
  profile: Profile,
  notes: Notes,
): (call: Call) => Recast | undefined {
  let vanished: Map<string, Recast> | undefined;
  return (call) => {
    const bound = toolOf(call, set.identity, turn.traits);
    if (bound !== undefined) {
      const isTold = isOfKind(call, bound) && hasForm(call, bound, turn);
      return isTold ? bound : inOwnKind(call, bound, profile);
    }
    vanished ??= recastVanished(turn, set, profile, notes);
    return vanished.get(identityKey(call));
  };
}

/** Names for the tools of past calls that are no longer declared; they yield to all that are. */
function recastVanished(
  turn: Turn,
  { identity, taken }: Toolset,
  profile: Profile,
  notes: Notes,
): Map<string, Recast> {
  const calls = new Map<string, { readonly call: Call; readonly at: number }>();
  for (const [at, item] of turn.items.entries()) {
    const call = providerCall(item, profile)?.[0] ?? item;
    if (call.type !== "call") continue;
    if (toolOf(call, identity, turn.traits) !== undefined) continue;
    if (!calls.has(identityKey(call))) calls.set(identityKey(call), { call, at });
  }
  const gone = [...calls.values()];
  const areKept = keepsGroups(profile);
  const names = createProviderNameAllocator(
    profile.tools.names,
    undefined,
    taken,
  )(
    gone.map(({ call: { name, namespace } }) => ({
      name,
      ...(areKept ? { scope: namespace } : { prefix: namespace }),
      rank: 9,
    })),
  );
  const recasts = new Map<string, Recast>();
  for (const [index, { call, at }] of gone.entries()) {
    const kind = upstreamKind(call.kind, profile);
    const name = isCalledByName(kind)
      ? (names[index] ?? upstreamName(call.name))
      : upstreamName(call.name);
    const namespace = areKept ? call.namespace : undefined;
    recasts.set(identityKey(call), {
      upstream: { kind, namespace, name },
      form: kind === call.kind ? undefined : kindOf(call.kind)?.standIn,
    });
    const isSame =
      kind === call.kind && name === (call.name as string) && namespace === call.namespace;
    // Calls of the provider itself are reported as such.
    if (!isSame && turn.items[at] === call)
      notes.note(
        itemPath(turn, at),
        kind === call.kind ? "renamed" : "reshaped",
        `\`${fullName(call)}\` is no longer declared; its calls are told as calls of \`${name}\``,
      );
  }
  return recasts;
}
