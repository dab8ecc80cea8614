/** A tool by the names that the client gave it. */
type Named = { readonly name: string; readonly namespace?: string | undefined };

/** Tools that are opened together. */
export type Group<Tool> = {
  /** The name for the model: at most 64 lowercase letters, digits, `_` and `-`. */
  readonly key: string;
  readonly title: string;
  readonly members: readonly Tool[];
};

/** A group larger than this is split: providers advise fewer than ten tools, and an opening sends all of them. */
const MOST = 8;

/** The fewest tools with a common word that make a separate group. */
const LEAST = 3;

type Placed<Tool> = {
  readonly tool: Tool;
  readonly at: number;
  /** The words of its name after the prefix of its group. */
  readonly words: readonly string[];
};
type Bundle<Tool> = { readonly label: string | undefined; readonly members: Placed<Tool>[] };

/**
 * Groups tools by namespace, by the prefix of an MCP server (`mcp__server__`, or `server__`),
 * else by the words that their names begin with. The same tools always make the same groups.
 */
export function groupTools<Tool extends Named>(tools: readonly Tool[]): readonly Group<Tool>[] {
  const origins = new Map<string, Bundle<Tool>>();
  for (const [at, tool] of tools.entries()) {
    const { label, rest } = originOf(tool);
    const known = origins.get(label ?? "") ?? { label, members: [] };
    origins.set(label ?? "", known);
    known.members.push({ tool, at, words: wordsOf(rest) });
  }
  const bundles = [...origins.values()].flatMap((bundle) => split(bundle, 0));
  const taken = new Set<string>();
  return bundles.toSorted(byFirst).map(({ label = "other", members }) => ({
    key: keyFor(label, taken),
    title: label,
    members: members.map(({ tool }) => tool),
  }));
}

function originOf({ name, namespace }: Named): { label: string | undefined; rest: string } {
  if (namespace !== undefined) return { label: bare(namespace), rest: name };
  const [, label, rest] = /^(?:mcp__)?(.+?)__(.+)$/s.exec(name) ?? [];
  return label === undefined || rest === undefined
    ? { label: undefined, rest: name }
    : { label: bare(label), rest };
}

/** A server's name without `mcp__` and outer underscores. */
const bare = (label: string): string =>
  label.replace(/^mcp__/, "").replaceAll(/^_+|_+$/g, "") || label;

/** `listOpenOrders`, `list-open-orders` and `list.open_orders` are three words each. */
const wordsOf = (name: string): readonly string[] =>
  name
    .replaceAll(/(\p{Ll}|\p{N})(?=\p{Lu})/gu, "$1 ")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");

/** Splits a bundle that is too large, or has no common origin, by the next word of the names. */
function split<Tool>({ label, members }: Bundle<Tool>, depth: number): Bundle<Tool>[] {
  if (label !== undefined && members.length <= MOST) return [{ label, members }];
  const byWord = Map.groupBy(members, ({ words }) => words[depth]);
  const alone: Placed<Tool>[] = [];
  const parts: Bundle<Tool>[] = [];
  for (const [word, some] of byWord) {
    if (word === undefined || some.length < LEAST) append(alone, some);
    else append(parts, split({ label: joined(label, word), members: some }, depth + 1));
  }
  return [...parts, ...chunks({ label, members: alone.toSorted((a, b) => a.at - b.at) })];
}

const joined = (label: string | undefined, word: string): string =>
  label === undefined ? word : `${label}_${word}`;

/** Tools without a further common word, in parts of about the same size. */
function chunks<Tool>({ label = "other", members }: Bundle<Tool>): Bundle<Tool>[] {
  if (members.length === 0) return [];
  const count = Math.ceil(members.length / MOST);
  if (count === 1) return [{ label, members }];
  return Array.from({ length: count }, (_, part) => {
    const [from, to] = [part, part + 1].map((one) => Math.round((one * members.length) / count));
    return { label: `${label}_${part + 1}`, members: members.slice(from, to) };
  });
}

const byFirst = <Tool>(a: Bundle<Tool>, b: Bundle<Tool>): number =>
  (a.members[0]?.at ?? 0) - (b.members[0]?.at ?? 0);

const LONGEST = 64;

function keyFor(label: string, taken: Set<string>): string {
  const plain = label
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, "_")
    .replace(/^[_-]+/, "")
    .slice(0, LONGEST - 4);
  const first = plain === "" ? "group" : plain;
  let key = first;
  for (let number = 2; taken.has(key); number++) key = `${first}_${number}`;
  taken.add(key);
  return key;
}
import { append } from "../../turn/append.ts";
