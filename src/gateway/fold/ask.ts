import { catalogLines, catalogText } from "../../agent/loader.ts";
import { lower, lowerItems, type Disclosure } from "../../agent/lower.ts";
import { Session, type SessionEvent } from "../../agent/session.ts";
import { stateOf } from "../../agent/catalog.ts";
import type { Decision } from "../../turn/decision.ts";
import { clientName } from "../../turn/names.ts";
import { itemPlace } from "../../turn/path.ts";
import type { Item, Message, Tool, Turn } from "../../turn/turn.ts";
import { utf8Length } from "../../turn/utf8-length.ts";
import { toolBytes } from "./bytes.ts";
import type { Folded } from "./folded.ts";
import type { LogEntry } from "./log.ts";

/** One round's question. */
export type FoldedQuestion = {
  readonly turn: Turn;
  /** What decides how the calls of its answer are to be taken. */
  readonly disclosure: Disclosure;
  /** Folded tools that are declared by themselves in this round. */
  readonly declared: ReadonlySet<string>;
  /** Where the client finds each declared tool, by the path that a plan of the question gives. */
  readonly paths: ReadonlyMap<string, string>;
  /** Definitions, catalogue and opened sections, in bytes. */
  readonly sentBytes: number;
};

/** Writes a request with its tools folded. The same log makes the same request, byte for byte. */
export function askFolded(
  own: Turn,
  folded: Folded,
  log: readonly LogEntry[],
  loads: boolean,
): FoldedQuestion {
  const disclosure = disclosureFor(folded, log, loads);
  const lowered = lower(disclosure);
  const items = lowerItems(
    disclosure,
    lowered.declared,
    log.map(({ added }) => ({ type: "item-added", ...added })),
  );
  const tools = [...folded.direct, ...lowered.tools.map((tool) => loaderTool(tool, own, folded))];
  const catalogue = catalogueMessage(disclosure, lowered.tools);
  const places = placesOf(log, items, folded);
  const first = own.items.length === 0 ? 0 : itemPlace(own, 0);
  const turn: Turn = {
    ...own,
    tools,
    toolChoice: tools.length === 0 ? undefined : folded.choice,
    items: catalogue === undefined ? items : [catalogue, ...items],
    places: catalogue === undefined ? places : [first, ...places],
    repairs: [...(own.repairs ?? []), foldingDecision(folded)],
  };
  const sentBytes = toolBytes(tools) + textBytes(catalogue) + openedBytes(log, items);
  const paths = declaredPaths(folded, lowered.tools);
  return { turn, disclosure, declared: lowered.declared, paths, sentBytes };
}

/** Folded tools that are declared all the same are found where the client declared them. */
function declaredPaths(
  { paths, direct, tools }: Folded,
  added: readonly Tool[],
): ReadonlyMap<string, string> {
  const all = new Map(paths);
  for (const [at, { name }] of added.entries()) {
    const path = tools.get(name)?.path;
    if (path !== undefined) all.set(`tools[${direct.length + at}]`, path);
  }
  return all;
}

/** What is open, as events. Lists that grow hold only so many tools: those that were opened last. */
function disclosureFor(folded: Folded, log: readonly LogEntry[], loads: boolean): Disclosure {
  const { catalog, strategy, names, forced, maxDescription } = folded;
  const isGrowing = strategy === "append" || strategy === "restart" || !loads;
  const open = isGrowing && strategy !== "wrap" ? openWithin(folded, log, loads) : undefined;
  const opening = (entry: LogEntry): SessionEvent[] =>
    entry.opens
      .filter((path) => open === undefined || open.has(path))
      .map((path) => ({
        type: "visibility-set",
        path,
        visibility: "full",
        by: entry.by,
        timestamp: 0,
      }));
  const opened = new Set(log.flatMap(({ opens }) => opens));
  const forcedOpen = [...(open ?? [])].filter((path) => !opened.has(path));
  const events = [
    ...log.flatMap(opening),
    ...forcedOpen.flatMap((path) =>
      opening({ added: { item: NOTHING }, opens: [path], by: "choice", place: 0 }),
    ),
  ];
  const start: SessionEvent = {
    type: "thread-started",
    adapter: "",
    strategy,
    role: "system",
    timestamp: 0,
  };
  const session = new Session(strategy === "restart" ? [...events, start] : [start, ...events]);
  const scope = { params: {}, session };
  return { catalog, scope, strategy, names, base: [], direct: forced, loads, maxDescription };
}

const NOTHING: Item = { type: "message", role: "user", parts: [] };

/** The sections that were opened last, as many as the upstream takes tools. */
function openWithin(folded: Folded, log: readonly LogEntry[], loads: boolean): ReadonlySet<string> {
  const { catalog, direct, max } = folded;
  const declared = direct.reduce(
    (sum, tool) => sum + (tool.type === "namespace" ? tool.tools.length : 1),
    0,
  );
  let room = max - declared - (loads ? 1 : 0) - folded.forced.size;
  const opened = log.flatMap(({ opens }) => opens).toReversed();
  // Who may load no more and has nothing to call gets what there is room for.
  const isBare = !loads && opened.length === 0 && declared === 0;
  const kept = new Set<string>();
  for (const path of isBare ? catalog.nodes.map((node) => node.path) : opened) {
    const count = catalog.byPath.get(path)?.section.tools?.length ?? 0;
    if (kept.has(path) || count > room) continue;
    kept.add(path);
    room -= count;
  }
  return kept;
}

/** A loader among strict functions says that it is not: any arguments may go through it. */
function loaderTool(tool: Tool, { traits }: Turn, { names }: Folded): Tool {
  if (tool.type !== "function" || !traits.strictFunctions) return tool;
  const isLoader = tool.name === clientName(names.read) || tool.name === clientName(names.call);
  return isLoader ? { ...tool, strict: false } : tool;
}

/** The catalogue as a message of its own, where the loader's description has no room for it. */
function catalogueMessage(disclosure: Disclosure, tools: readonly Tool[]): Message | undefined {
  const { catalog, scope, loads, names } = disclosure;
  if (!loads) return undefined;
  const open = new Set(disclosure.strategy === "restart" ? scope.session.overrides.keys() : []);
  const head = stateOf(scope, new Map([...open].map((path) => [path, "full" as const])));
  const lines = catalogLines(catalog, head);
  const isListed = tools.some((tool) => {
    if (tool.type === "builtin") return String(tool.raw["description"]).includes(lines[0] ?? "");
    if (tool.type !== "function" || tool.name !== clientName(names.read)) return false;
    return tool.description?.includes(lines.join("\n")) === true;
  });
  if (isListed || lines.length === 0) return undefined;
  return { type: "message", role: "system", parts: [{ type: "text", text: catalogText(lines) }] };
}

/** Where each item stands in the client's own list. A reading that brings tools is told in two. */
function placesOf(
  log: readonly LogEntry[],
  items: readonly Item[],
  { strategy }: Folded,
): readonly number[] {
  if (strategy !== "native" || items.length === log.length) return log.map(({ place }) => place);
  let at = 0;
  return log.flatMap(({ place, added }) => {
    const item = items[at];
    const isPair =
      added.item.type === "result" &&
      item?.type === "result" &&
      item.kind === "tool_search" &&
      added.item.kind === "function";
    at += isPair ? 2 : 1;
    return isPair ? [place, place] : [place];
  });
}

const textBytes = (item: Item | undefined): number =>
  item?.type === "message" || item?.type === "result"
    ? item.parts.reduce((sum, part) => sum + (part.type === "text" ? utf8Length(part.text) : 0), 0)
    : 0;

/** What opened sections take up in the conversation. */
function openedBytes(log: readonly LogEntry[], items: readonly Item[]): number {
  const readings = new Set(
    log.flatMap(({ added: { item, loaded } }) =>
      loaded !== undefined && item.type === "result" ? [item.call] : [],
    ),
  );
  return items.reduce((sum, item) => {
    if (item.type !== "result" || !readings.has(item.call)) return sum;
    return sum + textBytes(item) + toolBytes(item.declares?.tools ?? []);
  }, 0);
}

function foldingDecision({ tools, catalog, names, strategy }: Folded): Decision {
  const reason =
    tools.size === 0
      ? "only the allowed tools are shown"
      : `${tools.size} tools in ${catalog.nodes.length} sections are opened with \`${names.read}\` (${strategy})`;
  return { path: "tools", action: "reshaped", reason };
}
