import { declaredBy, type Entry } from "../../tools/plan/toolset.ts";
import type { Callable, Tool, Turn } from "../../turn/turn.ts";
import type { Folded } from "./folded.ts";

type Direct = Pick<Folded, "direct" | "paths" | "emptied" | "searches">;

/**
 * The declarations that stay when some tools are taken out of a request, and
 * where the client finds them. What the conversation brings beside the results
 * of searches is declared with the rest, since it is no longer whole.
 */
export function directTools(turn: Turn, taken: ReadonlySet<Entry>, searches: boolean): Direct {
  const gone = new Set<Callable>([...taken].map(({ tool }) => tool));
  const direct: Tool[] = [];
  const paths = new Map<string, string>();
  const keep = (tool: Tool, path: string): void => {
    if (isServed(tool, searches)) return;
    const here = `tools[${direct.length}]`;
    if (tool.type !== "namespace") {
      if (gone.has(tool)) return;
      paths.set(here, path);
      direct.push(tool);
      return;
    }
    const members = [...tool.tools.entries()].filter(([, member]) => !gone.has(member));
    // A namespace that was empty before is reported as such.
    if (members.length === 0 && tool.tools.length > 0) return;
    paths.set(here, path);
    for (const [at, [place]] of members.entries())
      paths.set(`${here}.tools[${at}]`, `${path}.tools[${place}]`);
    const isWhole = members.length === tool.tools.length;
    const tools = members.map(([, member]) => member);
    direct.push(isWhole ? tool : { ...tool, tools, unreadable: undefined });
  };
  for (const [at, tool] of turn.tools.entries()) keep(tool, `tools[${at}]`);

  const touched = Map.groupBy(taken, ({ item }) => item);
  const emptied = new Set<number>();
  const found = new Set<number>();
  for (const [at, [entry]] of touched) {
    const item = at === undefined ? undefined : turn.items[at];
    const declared = item === undefined ? undefined : declaredBy(item);
    if (at === undefined || item === undefined || declared === undefined) continue;
    (item.type === "result" ? found : emptied).add(at);
    const first = entry?.path.replace(/\[\d+\](?:\.tools\[\d+\])?$/, "") ?? "";
    for (const [index, tool] of declared.tools.entries()) keep(tool, `${first}[${index}]`);
  }
  return { direct, paths, emptied, searches: found };
}

/** A provider's own search, in whose place ours stands. */
const isServed = (tool: Tool, searches: boolean): boolean =>
  searches &&
  tool.type === "builtin" &&
  tool.kind.startsWith("tool_search") &&
  tool.raw["execution"] !== "client";
