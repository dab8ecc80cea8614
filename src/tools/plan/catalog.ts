import { itemPath } from "../../turn/path.ts";
import { clientName, type ClientName } from "../../turn/names.ts";
import type {
  Callable,
  Item,
  NamespaceTool,
  Tool,
  ToolDeclarations,
  Turn,
} from "../../turn/turn.ts";

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

export type Catalog = {
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
