import { isSeal } from "../../turn/seal.ts";
import { type AnyName, upstreamName, type UpstreamName } from "../../turn/names.ts";
import { type Profile, takesFrom } from "../../turn/profile.ts";
import type { Call, Extra, Item, Opaque, Part, Reasoning, Result, Turn } from "../../turn/turn.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import { declaredBy, type Toolset } from "../plan/toolset.ts";
import { keepsGroups, ruleFor } from "../plan/declare.ts";
import { type Bound, fullName, identityKey, isCalledByName } from "../names/identity.ts";
import { bareArguments, type Form } from "../kinds/decoder.ts";
import { toolKindOf } from "../kinds/kinds.ts";
import { allocateNames } from "../names/allocate.ts";
import { type ReasoningTarget, recallReasoning, sealedItems } from "../plan/reasoning.ts";
import { Draft, type TracedItems, type Notes } from "./repair.ts";

type TranslateOptions = {
  readonly profile: Profile;
  readonly destination: ReasoningTarget;
  readonly notes: Notes;
};

/** Gives past calls and their results the upstream's names and forms, and drops items of other dialects. */
export function translate(turn: Turn, set: Toolset, to: TranslateOptions): TracedItems {
  // If no name differs, both kinds of name are the same.
  const items = turn.items as readonly Item<AnyName>[] as readonly Item<UpstreamName>[];
  const translator = new Translator(turn, set, to);
  const draft = new Draft({ items, origins: [] }, to.notes);
  for (const [at, item] of turn.items.entries()) {
    for (const one of translator.translate(item, at)) draft.add(one as Item<UpstreamName>, at);
  }
  return draft;
}

type Translated = Item | Item<UpstreamName>;

/** The form of a past call at the upstream. */
type Recast = { readonly upstream: Bound["upstream"]; readonly form?: Form | undefined };

const MADE_ALONE =
  "the call and result of a tool that the provider ran are sent as those of a function";

class Translator {
  readonly #turn: Turn;
  readonly #set: Toolset;
  readonly #to: TranslateOptions;
  /** The kinds that calls are sent as, if another, by the call's id. */
  readonly #kinds = new Map<string, string>();
  /** Calls by the ids of their items: some results name those. */
  readonly #named = new Map<string, string>();
  /** The fields that reasoning carries for the calls after it. */
  readonly #carried = new Map<string, Extra>();
  /** The ids of items that reasoning carries whole. */
  readonly #sealed: ReadonlySet<unknown>;
  /** The calls of tools that are no longer declared. */
  #vanished: Map<string, Recast> | undefined;
  #answers: Map<string, Result[]> | undefined;
  #offered: Set<string> | undefined;

  constructor(turn: Turn, set: Toolset, to: TranslateOptions) {
    this.#turn = turn;
    this.#set = set;
    this.#to = to;
    const hasOpaque = turn.items.some(({ type }) => type === "opaque");
    this.#sealed = hasOpaque ? sealedItems(turn.items) : new Set();
  }

  /** An item in the upstream's form; empty: it is left out. */
  translate(item: Item, at: number): readonly Translated[] {
    switch (item.type) {
      case "call":
        return [this.#call(item, at)];
      case "result":
        return [this.#result(item)];
      case "opaque":
        return this.#opaque(item, at);
      case "reasoning":
        return this.#reasoning(item, at);
      default:
        return [item];
    }
  }

  #call(item: Call, at: number): Translated {
    let call = recastCall(item, this.#recast(item));
    const input = call.kind === "function" ? asObject(call.input) : call.input;
    if (input !== call.input) {
      const reason = "the arguments of a call must be an object, so other values are put into one";
      this.#to.notes.note(at, "repaired", reason);
      call = { ...call, input };
    }
    if (call.kind !== item.kind) this.#kinds.set(item.id, call.kind);
    if (item.kind === "local_shell" && item.itemId !== undefined && item.itemId !== item.id)
      this.#named.set(item.itemId, item.id);
    const extra = this.#carried.get(item.id);
    return extra === undefined ? call : { ...call, extra };
  }

  #result(item: Result): Result {
    // Some clients name a shell's call by the id of the item that made it.
    const call = this.#named.get(item.call) ?? item.call;
    const kind = this.#kinds.get(call) ?? upstreamKind(item.kind, this.#to.profile);
    if (kind === item.kind) return item;
    const standIn = toolKindOf(item.kind)?.standIn;
    const brought = this.#namesBrought(item);
    const parts = this.#withLoads(standIn?.answer?.(item, brought) ?? item.parts, item, brought);
    return { ...item, call, kind, parts, extra: undefined };
  }

  /** The words about tools that were found, with the names of those that are offered. */
  #withLoads(parts: readonly Part[], item: Result, brought: readonly string[]): readonly Part[] {
    if (item.declares === undefined) return parts;
    this.#offered ??= new Set(this.#set.offered.map(({ upstream }) => String(upstream.name)));
    const loads = brought.filter((name) => this.#offered?.has(name));
    const [first, ...rest] = parts;
    if (loads.length === 0 || first?.type !== "text") return parts;
    return [{ ...first, loads }, ...rest];
  }

  #namesBrought({ declares }: Result): readonly string[] {
    const { identity } = this.#set;
    return (declares?.tools ?? []).flatMap((tool) => {
      const [namespace, members] =
        tool.type === "namespace" ? [tool.name, tool.tools] : [undefined, [tool]];
      return members.map(({ name }) =>
        String(identity.byName(name, namespace)?.upstream.name ?? name),
      );
    });
  }

  #opaque(item: Opaque, at: number): readonly Translated[] {
    // Reasoning gives the item back whole.
    if (this.#sealed.has(item.raw.id ?? item.raw.tool_use_id)) return [];
    const own = providerCall(item, this.#to.profile);
    if (own !== undefined) {
      this.#to.notes.note(at, "reshaped", MADE_ALONE);
      return own.flatMap((one) => this.translate(one, at));
    }
    if (this.#set.emptied.has(at)) return [];
    if (takesFrom(item.dialect, this.#to.profile)) return [item];
    // Its tools are in the catalog, and verdicts report them.
    if (declaredBy(item) !== undefined) return [];
    const { type } = item.raw;
    const what = typeof type === "string" ? `${type} items` : "items without a type";
    this.#to.notes.note(at, "dropped", `the upstream does not support ${what}`);
    return [];
  }

  #reasoning(item: Reasoning, at: number): readonly Translated[] {
    if (item.encrypted === undefined) return [item];
    const { profile, destination } = this.#to;
    const {
      item: kept,
      loss,
      calls,
      own,
    } = recallReasoning(item, this.#turn, profile, destination);
    // A seal gives back an item that the client could only be shown in another form.
    if (isSeal(item.encrypted) && own !== undefined && takesFrom(own.dialect, profile))
      return [own];
    if (loss !== undefined) this.#to.notes.note(at, "dropped", loss);
    for (const [id, extra] of Object.entries(calls ?? {})) this.#carried.set(id, extra);
    return kept === undefined ? [] : [kept];
  }

  /** The form of a past call at the upstream, also if its tool is no longer declared. */
  #recast(call: Call): Recast | undefined {
    const bound = this.#toolOf(call);
    if (bound === undefined) {
      this.#vanished ??= this.#recastVanished();
      return this.#vanished.get(identityKey(call));
    }
    const isOfKind = call.kind === bound.client.kind || !isCalledByName(bound.client.kind);
    if (isOfKind && this.#hasForm(call, bound)) return bound;
    // The tool was of another kind when it was called.
    const kind = upstreamKind(call.kind, this.#to.profile);
    const form = kind === call.kind ? undefined : toolKindOf(call.kind)?.standIn;
    return { upstream: { ...bound.upstream, kind }, form };
  }

  /**
   * The tool of a past call, perhaps under another kind. A call that is not by name has no
   * other tool; and some dialects call a built-in tool a function.
   */
  #toolOf(call: Call): Bound | undefined {
    const { identity } = this.#set;
    const exact = identity.byIdentity(call);
    if (exact !== undefined || !isCalledByName(call.kind)) return exact;
    const bound = identity.byName(call.name, call.namespace);
    const { builtinsAsFunctions } = this.#turn.traits;
    return builtinsAsFunctions || isCalledByName(bound?.client.kind) ? bound : undefined;
  }

  /** True if the kind that a call is to be sent as has a form for its result too. */
  #hasForm(call: Call, { upstream }: Bound): boolean {
    const { takesAnswer } = toolKindOf(upstream.kind) ?? {};
    if (takesAnswer === undefined || call.kind === upstream.kind) return true;
    this.#answers ??= Map.groupBy(
      this.#turn.items.filter((item) => item.type === "result"),
      (item) => item.call,
    );
    return (this.#answers.get(call.id) ?? []).every(({ parts }) =>
      takesAnswer(parts.map((part) => (part.type === "text" ? part.text : "")).join("")),
    );
  }

  /** Names for the tools of past calls that are no longer declared; they yield to all that are. */
  #recastVanished(): Map<string, Recast> {
    const { items } = this.#turn;
    const gone = new Map<string, { readonly call: Call; readonly at: number }>();
    for (const [at, item] of items.entries()) {
      const call = providerCall(item, this.#to.profile)?.[0] ?? item;
      if (call.type !== "call" || this.#toolOf(call) !== undefined) continue;
      if (!gone.has(identityKey(call))) gone.set(identityKey(call), { call, at });
    }
    const areKept = keepsGroups(this.#to.profile);
    const requests = Array.from(gone.values(), ({ call: { name, namespace } }) => ({
      name,
      ...(areKept ? { scope: namespace } : { prefix: namespace }),
      rank: 9,
    }));
    const taken = new Map(Array.from(this.#set.taken, ([scope, names]) => [scope, new Set(names)]));
    const names = allocateNames(requests, this.#to.profile.tools.names, taken);
    const recasts = new Map<string, Recast>();
    for (const [key, { call, at }] of gone) {
      const kind = upstreamKind(call.kind, this.#to.profile);
      const given = isCalledByName(kind) ? names[recasts.size] : undefined;
      const name = given ?? upstreamName(call.name);
      const namespace = areKept ? call.namespace : undefined;
      const form = kind === call.kind ? undefined : toolKindOf(call.kind)?.standIn;
      recasts.set(key, { upstream: { kind, namespace, name }, form });
      const isSame =
        kind === call.kind && name === (call.name as string) && namespace === call.namespace;
      // Calls that the provider made itself are reported as such.
      if (isSame || items[at] !== call) continue;
      const reason = `\`${fullName(call)}\` is no longer declared; its calls are sent as calls of \`${name}\``;
      this.#to.notes.note(at, kind === call.kind ? "renamed" : "reshaped", reason);
    }
    return recasts;
  }
}

/** A call that a provider made by itself, with its result, for upstreams that have no form for it. */
function providerCall(item: Item, profile: Profile): readonly [Call, Result] | undefined {
  if (item.type !== "opaque" || takesFrom(item.dialect, profile)) return undefined;
  const [, kind] = /^(.+)_call$/.exec(String(item.raw.type)) ?? [];
  return kind === undefined ? undefined : toolKindOf(kind)?.ownCall?.(item.raw);
}

const upstreamKind = (kind: string, profile: Profile): string =>
  ruleFor(kind, profile) === "native" || toolKindOf(kind)?.standIn === undefined
    ? kind
    : "function";

function recastCall(call: Call, recast: Recast | undefined): Call | Call<UpstreamName> {
  if (recast === undefined) return call;
  const { kind, namespace, name } = recast.upstream;
  const input = recast.form === undefined ? call.input : recast.form.encode(call.input);
  const isSame =
    kind === call.kind &&
    name === (call.name as string) &&
    namespace === call.namespace &&
    input === call.input;
  if (isSame) return call;
  // The other fields of the client's kind have no place in another kind.
  const extra = kind === call.kind ? call.extra : undefined;
  return { ...call, kind, namespace, name, input, extra };
}

/**
 * Arguments as the text of a JSON object; the same text if they are one already. Many upstreams
 * refuse every later request of a conversation in which a model once called without arguments,
 * or wrote them wrongly.
 */
function asObject(text: string): string {
  const value = jsonOf(text);
  if (isFields(value)) return text;
  if (value === null || text.trim() === "") return "{}";
  if (value === undefined) return JSON.stringify({ unreadable: text });
  const bare = bareArguments(text);
  return isFields(jsonOf(bare)) ? bare : `{"value":${text}}`;
}
