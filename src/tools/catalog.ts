import type { ClientName } from "../turn/names.ts";
import { clientName } from "../turn/names.ts";
import type { NamespaceTool, Tool, Turn } from "../turn/turn.ts";

/** What can be called: a namespace only holds such. */
export type Callable = Exclude<Tool, NamespaceTool>;

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
};

export type Catalog = {
  readonly entries: readonly Entry[];
  /** Namespaces that hold nothing. */
  readonly hollow: readonly { readonly path: string; readonly name: string }[];
};

/** Every tool the model may be offered, one list whatever its origin. */
export function buildToolCatalog(turn: Pick<Turn, "tools">): Catalog {
  const entries: Entry[] = [];
  const hollow: { path: string; name: string }[] = [];
  for (const [at, tool] of turn.tools.entries()) {
    const path = `tools[${at}]`;
    if (tool.type !== "namespace") {
      entries.push(entryOf(tool, path));
      continue;
    }
    if (tool.tools.length === 0) hollow.push({ path, name: tool.name });
    for (const [inner, member] of tool.tools.entries())
      entries.push(entryOf(member, `${path}.tools[${inner}]`, tool));
  }
  return { entries, hollow };
}

function entryOf(tool: Callable, path: string, group?: NamespaceTool): Entry {
  const kind = tool.type === "builtin" ? tool.kind : tool.type;
  const name = clientName(tool.name === "" ? kind : tool.name);
  return { path, kind, namespace: group?.name, name, tool, group };
}
