import { Fault } from "../turn/fault.ts";
import type { ClientName, UpstreamName } from "../turn/names.ts";

/** Who a tool is to the client. */
export type Identity = {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: ClientName;
};

/** Who it is to the upstream. */
export type Alias = {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: UpstreamName;
};

/** Both at once. `Bound` adds what its maker wants to find again. */
export type Binding = { readonly client: Identity; readonly upstream: Alias };

/** The tools of a plan, found by either name. */
export type ToolIdentityMap<Bound extends Binding = Binding> = {
  readonly bindings: readonly Bound[];
  /** By what the upstream calls it. */
  byAlias(name: UpstreamName, namespace?: string): Bound | undefined;
  /** By what the client calls it. */
  byIdentity(identity: Identity): Bound | undefined;
  /** By the client's name, whatever the kind; only where it is the only one so called. */
  byName(name: string, namespace?: string): Bound | undefined;
};

export function createIdentityMap<Bound extends Binding>(
  bindings: readonly Bound[],
): ToolIdentityMap<Bound> {
  const aliases = new Map<string, Bound>();
  const identities = new Map<string, Bound>();
  const names = new Map<string, Bound | null>();
  for (const bound of bindings) {
    const { client, upstream } = bound;
    const alias = key(upstream.name, upstream.namespace);
    const other = aliases.get(alias);
    if (other !== undefined) throw clash(client, other.client, upstream.name);
    aliases.set(alias, bound);
    const name = key(client.name, client.namespace);
    identities.set(client.kind + name, bound);
    names.set(name, names.has(name) ? null : bound);
  }
  return {
    bindings,
    byAlias: (name, namespace) => aliases.get(key(name, namespace)),
    byIdentity: ({ kind, name, namespace }) => identities.get(kind + key(name, namespace)),
    byName: (name, namespace) => names.get(key(name, namespace)) ?? undefined,
  };
}

/** Names may hold any character, so the length says where the namespace ends. */
const key = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? `|${name}` : `${namespace.length}|${namespace}${name}`;

const clash = (one: Identity, other: Identity, name: string): Fault =>
  new Fault(
    "tools.name_clash",
    `\`${fullName(other)}\` and \`${fullName(one)}\` both become \`${name}\`; rename one.`,
    { param: "tools" },
  );

/** A tool as people write it. */
export const fullName = ({ namespace, name }: Pick<Identity, "namespace" | "name">): string =>
  namespace === undefined ? name : `${namespace}.${name}`;
