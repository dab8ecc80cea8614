import * as fc from "fast-check";

/** Values that readers of JSON do not expect. */
const oddValues: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    "",
    " ",
    0,
    -1,
    1e308,
    2 ** 53 + 2,
    true,
    [],
    {},
    [null],
    [[]],
    [{}],
    "\u0000",
    "\ud800",
    "__proto__",
    { __proto__: null, constructor: {} },
    "a".repeat(5000),
  ),
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: "binary", maxLength: 50 }),
);

/** One change to a value: the number of its node, the action, and its arguments. */
export const changes = fc.record({
  at: fc.nat(100_000),
  does: fc.constantFrom("replace", "remove", "repeat", "rename", "nest", "add"),
  value: oddValues,
  times: fc.integer({ min: 2, max: 40 }),
});
export type Change = typeof changes extends fc.Arbitrary<infer T> ? T : never;

type Node = { readonly holder: Record<string, unknown> | unknown[]; readonly key: string };

function nodesOf(value: unknown, found: Node[] = []): Node[] {
  if (typeof value !== "object" || value === null) return found;
  for (const key of Object.keys(value)) {
    found.push({ holder: value as Node["holder"], key });
    nodesOf((value as Record<string, unknown>)[key], found);
  }
  return found;
}

const get = ({ holder, key }: Node): unknown => (holder as Record<string, unknown>)[key];
const set = ({ holder, key }: Node, value: unknown): void => {
  Object.defineProperty(holder, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
};

/** A copy of a value with changes made to it. */
export function mutated(value: unknown, list: readonly Change[]): unknown {
  const copy = structuredClone(value);
  for (const change of list) {
    const nodes = nodesOf(copy);
    const node = nodes[change.at % Math.max(1, nodes.length)];
    if (node !== undefined) apply(node, change);
  }
  return copy;
}

function apply(node: Node, { does, value: given, times }: Change): void {
  const { holder, key } = node;
  // A value that is put in twice must not become a part of itself.
  const value = structuredClone(given);
  switch (does) {
    case "replace":
      return set(node, value);
    case "remove":
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
      return;
    case "repeat":
      if (Array.isArray(holder))
        for (let at = 0; at < times; at++) holder.push(structuredClone(get(node)));
      return;
    case "rename":
      if (Array.isArray(holder)) return;
      return set(
        { holder, key: typeof value === "string" ? value : `${key}x` },
        structuredClone(get(node)),
      );
    case "nest": {
      let inner = get(node);
      for (let at = 0; at < times; at++) inner = at % 2 === 0 ? [inner] : { a: inner };
      return set(node, inner);
    }
    case "add":
      return set({ holder, key: `extra${times}` }, value);
    default:
      does satisfies never;
  }
}

/** A copy of a value in which one list has `count` more entries. */
export function grown(value: unknown, at: number, count: number): unknown {
  const copy = structuredClone(value);
  const lists = nodesOf(copy).filter((node) => Array.isArray(get(node)));
  const list = lists[at % Math.max(1, lists.length)];
  const entries = list === undefined ? [] : (get(list) as unknown[]);
  const [first] = entries;
  if (first === undefined) return copy;
  for (let added = 0; added < count; added++) entries.push(numbered(first, added));
  return copy;
}

/** The same entry with a number behind its texts, because clients never send the same entry twice. */
const numbered = (entry: unknown, at: number): unknown =>
  JSON.parse(
    JSON.stringify(entry, (key, value: unknown) =>
      typeof value === "string" && /^(?:name|id|call_id|tool_use_id|tool_call_id|text)$/.test(key)
        ? `${value}${at}`
        : value,
    ),
  );
