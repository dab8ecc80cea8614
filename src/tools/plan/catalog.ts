import { itemPath } from "../../turn/path.ts";
import { clientName, type ClientName } from "../../turn/names.ts";
import type { Callable, DialectName, Item, NamespaceTool, Tool, Turn } from "../../turn/turn.ts";
import { readDeclaration } from "./declarations.ts";

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
  /** How late it came: 0 with the list of tools, else by the item that brought it first. */
  readonly since: number;
};

export type Catalog = {
  readonly entries: readonly Entry[];
  /** Namespaces that hold nothing. */
  readonly hollow: readonly { readonly path: string; readonly name: string }[];
  /** Declarations that cannot be read, and the item of the conversation they stand in. */
  readonly unread: readonly { readonly path: string; readonly item?: number | undefined }[];
};

/** Every tool the model may be offered: those declared, and those that the conversation brought. */
export function buildToolCatalog(
  turn: Pick<Turn, "dialect" | "tools" | "items" | "body">,
): Catalog {
  const entries: Entry[] = [];
  const hollow: { path: string; name: string }[] = [];
  const unread: { path: string; item?: number }[] = [];
  const add = (given: Tool, path: string, item?: number): void => {
    const tool = asNamespace(given, (inner) => unread.push({ path: path + inner })) ?? given;
    if (tool.type !== "namespace") return void entries.push(entryOf(tool, path, item));
    if (tool.tools.length === 0) hollow.push({ path, name: tool.name });
    for (const [at, member] of tool.tools.entries())
      entries.push(entryOf(member, `${path}.tools[${at}]`, item, tool));
  };

  for (const [at, tool] of turn.tools.entries()) add(tool, `tools[${at}]`);
  for (const [item, carrier] of turn.items.entries()) {
    const brought = toolsIn(carrier);
    if (brought === undefined) continue;
    for (const [at, raw] of brought.tools.entries()) {
      const path = `${itemPath(turn, item)}.tools[${at}]`;
      const lose = (inner: string): void => void unread.push({ path: path + inner, item });
      const tool = readDeclaration(raw, brought.dialect, lose);
      if (tool === undefined) lose("");
      else add(tool, path, item);
    }
  }
  return { entries, hollow, unread };
}

/** Namespaces are a word of one dialect only; another keeps them as a tool it does not know. */
function asNamespace(tool: Tool, unread: (path: string) => void): NamespaceTool | undefined {
  if (tool.type !== "builtin" || tool.kind !== "namespace") return undefined;
  const read = readDeclaration(tool.raw, tool.dialect, unread);
  return read?.type === "namespace" ? read : undefined;
}

type Brought = { readonly dialect: DialectName; readonly tools: readonly unknown[] };

/** The declarations that an item carries: tools said later than the rest, or found by a search. */
export function toolsIn(item: Item): Brought | undefined {
  if (item.type === "opaque") {
    const { type, tools } = item.raw;
    const carries = type === "additional_tools" || type === "tool_search_output";
    return carries && Array.isArray(tools) ? { dialect: item.dialect, tools } : undefined;
  }
  if (item.type !== "result" || item.kind !== "tool_search" || item.extra === undefined)
    return undefined;
  const { tools } = item.extra.fields;
  return Array.isArray(tools) ? { dialect: item.extra.dialect, tools } : undefined;
}

export const bringsTools = (items: readonly Item[]): boolean =>
  items.some((item) => toolsIn(item) !== undefined);

function entryOf(tool: Callable, path: string, item?: number, group?: NamespaceTool): Entry {
  const kind = tool.type === "builtin" ? tool.kind : tool.type;
  const name = clientName(tool.name === "" ? kind : tool.name);
  const since = item === undefined ? 0 : item + 1;
  return { path, kind, namespace: group?.name, name, tool, group, item, since };
}
