import { Fault } from "../../turn/fault.ts";
import type { ClientName, UpstreamName } from "../../turn/names.ts";

/** Who a tool is to the client. */
export type Identity = {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: ClientName;
};

/** Who it is to the upstream. */
type Alias = {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: UpstreamName;
};

/** Both at once. */
export type Binding = { readonly client: Identity; readonly upstream: Alias };

/** The tools of a plan, found by either name. `Bound` adds what its maker wants to find again. */
export type ToolIdentityMap<Bound extends Binding = Binding> = {
  readonly bindings: readonly Bound[];
  /** By what the upstream calls it. */
  byAlias(alias: Alias): Bound | undefined;
  /** By what the client calls it. */
  byIdentity(identity: Identity): Bound | undefined;
  /** By the client's name, whatever the kind; only where it is the only one so called. */
  byName(name: string, namespace?: string): Bound | undefined;
  /** By the client's name in a form that models write by themselves: `namespace.name` and the like. */
  byNickname(name: string): Bound | undefined;
  /** By a name that is only like one of its names: other capitals, another sign between the words. */
  byLikeness(name: string): Bound | undefined;
};

export function createIdentityMap<Bound extends Binding>(
  bindings: readonly Bound[],
): ToolIdentityMap<Bound> {
  const aliases = new Map<string, Bound>();
  const identities = new Map<string, Bound>();
  const names = new Map<string, Bound | null>();
  let nicknames: Nicknames<Bound> | undefined;
  let likenesses: Nicknames<Bound> | undefined;
  for (const bound of bindings) {
    const { client, upstream } = bound;
    const alias = aliasKey(upstream);
    const other = aliases.get(alias);
    if (other !== undefined) throw clash(client, other.client, upstream.name);
    aliases.set(alias, bound);
    const name = nameKey(client.name, client.namespace);
    // Of tools that may be declared more than once, the first stands for all.
    if (identities.has(identityKey(client))) continue;
    identities.set(identityKey(client), bound);
    names.set(name, names.has(name) ? null : bound);
  }
  return {
    bindings,
    byAlias: (alias) => aliases.get(aliasKey(alias)),
    byIdentity: (identity) => identities.get(identityKey(identity)),
    byName: (name, namespace) => names.get(nameKey(name, namespace)) ?? undefined,
    byNickname(name) {
      nicknames ??= nicknamesOf(bindings);
      return nicknames.get(name) ?? undefined;
    },
    byLikeness(name) {
      likenesses ??= nicknamesOf(bindings, likenessOf);
      return likenesses.get(likenessOf(name)) ?? undefined;
    },
  };
}

/** Names may hold any character, so the length says where the namespace ends. */
const nameKey = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? `|${name}` : `${namespace.length}|${namespace}${name}`;

/** Of tools that are not called by name, and whose names we made up, the kind counts. */
export const aliasKey = ({ kind, name, namespace }: Alias): string =>
  isCalledByName(kind) ? nameKey(name, namespace) : `${kind}@${name}`;

/** Null: two tools could be meant. */
type Nicknames<Bound> = Map<string, Bound | null>;

/** What is left of a name when capitals and signs do not count; nothing is like a name of signs alone. */
const likenessOf = (name: string): string =>
  name
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu)
    ?.join("_") ?? name;

function nicknamesOf<Bound extends Binding>(
  bindings: readonly Bound[],
  form: (name: string) => string = String,
): Nicknames<Bound> {
  const found: Nicknames<Bound> = new Map();
  const learn = (nickname: string, bound: Bound): void => {
    const name = form(nickname);
    found.set(name, found.has(name) && found.get(name) !== bound ? null : bound);
  };
  for (const bound of bindings) {
    const { name, namespace } = bound.client;
    // Models trained on one client's tools write its namespace before every function.
    learn(`functions.${bound.upstream.name}`, bound);
    learn(name, bound);
    for (const joined of joinedNames(name, namespace)) learn(joined, bound);
  }
  return found;
}

/** A tool of a namespace in one word, in each of the forms that there are. */
export const joinedNames = (name: string, namespace: string | undefined): readonly string[] =>
  namespace === undefined ? [] : [".", "__", "/", ":"].map((joint) => namespace + joint + name);

const clash = (one: Identity, other: Identity, name: string): Fault =>
  new Fault(
    "tools.name_clash",
    `\`${fullName(other)}\` and \`${fullName(one)}\` both become \`${name}\`; rename one of them.`,
    { param: "tools" },
  );

/** Two tools are the same if these are. */
export const identityKey = ({ kind, namespace, name }: Identity): string =>
  kind + nameKey(name, namespace);

/** Functions and custom tools have names of their own; the others are known by their kind. */
export const isCalledByName = (kind: string | undefined): boolean =>
  kind === "function" || kind === "custom";

type Named = { readonly namespace?: string | undefined; readonly name: string };

/** A tool as people write it. */
export const fullName = ({ namespace, name }: Named): string =>
  namespace === undefined ? name : `${namespace}.${name}`;
