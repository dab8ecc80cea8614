import { loadedLater } from "../dialects/responses/tool-search.ts";
import { memoizeByIdentity } from "../turn/memoize.ts";
import { clientName } from "../turn/names.ts";
import type { FunctionTool, NamespaceTool } from "../turn/turn.ts";
import type { Catalog, Node } from "./catalog.ts";

/** A section with tools is a namespace to providers that load tools by themselves. */
const LONGEST = 64;

const namespaces = memoizeByIdentity((catalog: Catalog): ReadonlyMap<Node, string> => {
  const names = new Map<Node, string>();
  const taken = new Set<string>();
  for (const node of catalog.nodes) {
    const plain = node.path.replaceAll(".", "__").slice(0, LONGEST);
    let name = plain;
    for (let number = 2; taken.has(name); number++)
      name = `${plain.slice(0, LONGEST - 4)}_${number}`;
    taken.add(name);
    names.set(node, name);
  }
  return names;
});

export const namespaceOf = (catalog: Catalog, node: Node): string =>
  namespaces(catalog).get(node) ?? node.path;

/** Tools as the result of a search brings them: namespaces with deferred functions. */
export function loadedTools(catalog: Catalog, names: readonly string[]): readonly NamespaceTool[] {
  const groups = new Map<Node, FunctionTool[]>();
  for (const name of names) {
    const tool = catalog.tools.get(name);
    const owner = catalog.owners.get(name);
    if (tool === undefined || owner === undefined) continue;
    const { description, schema, strict = false } = tool;
    const members = groups.get(owner) ?? [];
    members.push({
      type: "function",
      name: clientName(name),
      description,
      schema,
      strict,
      extra: loadedLater,
    });
    groups.set(owner, members);
  }
  return [...groups].map(([node, tools]) => ({
    type: "namespace",
    name: namespaceOf(catalog, node),
    description: node.section.title,
    tools,
  }));
}
