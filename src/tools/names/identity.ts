import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Callable, JsonSchema, NamespaceTool, ToolRef } from "../../turn/turn.ts";
import type { Form } from "../kinds/decoder.ts";

/** An offered tool under the client's name and under the upstream's. */
export type Bound = {
  readonly client: ToolRef;
  readonly upstream: ToolRef<UpstreamName>;
  readonly path: string;
  readonly declaration: Callable<UpstreamName>;
  /** The namespace that keeps it at the upstream. */
  readonly group?: NamespaceTool | undefined;
  /** The end of a description that was too long. */
  readonly rest?: string | undefined;
  /** The item of the conversation that keeps it. */
  readonly item?: number | undefined;
  /** Converts the inputs of its calls; undefined if they keep their form. */
  readonly form?: Form | undefined;
  /** The client's own schema, if the upstream got another. */
  readonly original?: JsonSchema | undefined;
};

/** The tools of a plan, found by either name. */
export class ToolIdentityMap {
  /** Functions outside namespaces whose calls are the same on both sides, by name. */
  readonly unchanged = new Map<string, Bound>();
  readonly #bindings: readonly Bound[];
  readonly #aliases = new Map<string, Bound>();
  readonly #identities = new Map<string, Bound>();
  readonly #names = new Map<string, Bound | null>();
  #nicknames: Nicknames | undefined;
  #likenesses: Nicknames | undefined;

  /** Throws a Fault if two tools have one name at the upstream. */
  constructor(bindings: readonly Bound[]) {
    this.#bindings = bindings;
    for (const bound of bindings) {
      const { client, upstream } = bound;
      const alias = aliasKey(upstream);
      const other = this.#aliases.get(alias);
      if (other !== undefined) throw clash(client, other.client, upstream.name);
      this.#aliases.set(alias, bound);
      // If a tool is declared more than once, calls are those of the first.
      if (this.#identities.has(identityKey(client))) continue;
      this.#identities.set(identityKey(client), bound);
      const name = nameKey(client.name, client.namespace);
      this.#names.set(name, this.#names.has(name) ? null : bound);
      const isFunction = client.kind === "function" && upstream.kind === "function";
      const isBare = client.namespace === undefined && upstream.namespace === undefined;
      if (isFunction && isBare && bound.form === undefined && String(client.name) === upstream.name)
        this.unchanged.set(client.name, bound);
    }
  }

  /** Finds a tool by the upstream's name. */
  byAlias(alias: ToolRef<UpstreamName>): Bound | undefined {
    return this.#aliases.get(aliasKey(alias));
  }

  /** Finds a tool by the client's kind, namespace and name. */
  byIdentity(identity: ToolRef): Bound | undefined {
    return this.#identities.get(identityKey(identity));
  }

  /** Finds a tool of any kind by the client's name; undefined if several have it. */
  byName(name: string, namespace?: string): Bound | undefined {
    return this.#names.get(nameKey(name, namespace)) ?? undefined;
  }

  /** Finds a tool by a form of its name that models write by themselves, such as `namespace.name`. */
  byNickname(name: string): Bound | undefined {
    this.#nicknames ??= nicknamesOf(this.#bindings);
    return this.#nicknames.get(name) ?? undefined;
  }

  /** Finds a tool by a name that differs in capitals or in the signs between the words. */
  byLikeness(name: string): Bound | undefined {
    this.#likenesses ??= nicknamesOf(this.#bindings, likenessOf);
    return this.#likenesses.get(likenessOf(name)) ?? undefined;
  }
}

/** A name may hold any character, so the key holds the length of the namespace. */
const nameKey = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? `|${name}` : `${namespace.length}|${namespace}${name}`;

/** The names of tools that are not called by name were made up here, so their kind is in the key. */
export const aliasKey = ({ kind, name, namespace }: ToolRef<UpstreamName>): string =>
  isCalledByName(kind) ? nameKey(name, namespace) : `${kind}@${name}`;

/** Null: several tools have the nickname. */
type Nicknames = Map<string, Bound | null>;

/** A name in small letters with one sign between its words; a name without words stays as it is. */
const likenessOf = (name: string): string =>
  name
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu)
    ?.join("_") ?? name;

function nicknamesOf(
  bindings: readonly Bound[],
  form: (name: string) => string = String,
): Nicknames {
  const found: Nicknames = new Map();
  const learn = (nickname: string, bound: Bound): void => {
    const name = form(nickname);
    found.set(name, found.has(name) && found.get(name) !== bound ? null : bound);
  };
  for (const bound of bindings) {
    const { name, namespace } = bound.client;
    // Models trained on one client's tools write its namespace in front of every function.
    learn(`functions.${bound.upstream.name}`, bound);
    learn(name, bound);
    for (const joined of joinedNames(name, namespace)) learn(joined, bound);
  }
  return found;
}

/** The name of a tool with its namespace in front, with each joint that models write. */
export const joinedNames = (name: string, namespace: string | undefined): readonly string[] =>
  namespace === undefined ? [] : [".", "__", "/", ":"].map((joint) => namespace + joint + name);

const clash = (one: ToolRef, other: ToolRef, name: string): Fault =>
  new Fault(
    "tools.name_clash",
    `\`${fullName(other)}\` and \`${fullName(one)}\` both become \`${name}\`; rename one of them.`,
    { param: "tools" },
  );

/** Two tools with the same key are the same tool to the client. */
export const identityKey = ({ kind, namespace, name }: ToolRef): string =>
  kind + nameKey(name, namespace);

/** True for functions and custom tools, which are called by a name. Other tools are known by their kind. */
export const isCalledByName = (kind: string | undefined): boolean =>
  kind === "function" || kind === "custom";

type Named = { readonly namespace?: string | undefined; readonly name: string };

/** The name of a tool for messages to people. */
export const fullName = ({ namespace, name }: Named): string =>
  namespace === undefined ? name : `${namespace}.${name}`;
