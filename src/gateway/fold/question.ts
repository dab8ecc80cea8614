/** Writes the request of one round: the conversation as the upstream has seen it, with its tools folded. */

import { readingText, readCatalog, stateOf } from "../../agent/catalog.ts";
import { type Disclosure, lower, lowerItems } from "../../agent/lower.ts";
import { type ItemAdded, type OpenedBy, Session, type VisibilitySet } from "../../agent/session.ts";
import { identityKey } from "../../tools/names/identity.ts";
import type { Plan } from "../../tools/plan/plan.ts";
import type { ToolVerdict } from "../../tools/plan/declare.ts";
import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import { isByModel } from "../../turn/item.ts";
import { clientName } from "../../turn/names.ts";
import { itemPlace } from "../../turn/path.ts";
import { type HiddenExchange, readSeal } from "../../turn/seal.ts";
import type { Call, Item, Message, Result, Tool, Turn } from "../../turn/turn.ts";
import { utf8Length } from "../../turn/utf8-length.ts";
import { openedIn } from "./call-id.ts";
import type { Folded } from "./fold.ts";
import { toolBytes } from "./tool-size.ts";

/** An item of the conversation in the catalogue's words, and the sections that were opened with it. */
export type LogEntry = {
  readonly added: Omit<ItemAdded, "type">;
  readonly opens: readonly string[];
  readonly by: OpenedBy;
  /** The place of the client's own item that it belongs to. */
  readonly place: number;
};

/** Sections and loaders: what a call or reading is written with. */
type Words = Pick<Folded, "catalog" | "names">;

/** A section is put back so often at most: ids of 40 characters could else ask for a long one any number of times. */
const MAX_READINGS = 8;

/**
 * The conversation as the upstream has seen it, made of what the client sends:
 * hidden exchanges are put back from seals and call ids, and sections whose
 * tools were called are open. An exchange that cannot be found again is left
 * out: the model can read the section once more.
 */
export function restoreLog(own: Turn, folded: Folded): readonly LogEntry[] {
  const log: LogEntry[] = [];
  const restored = new Map<string, number>();
  let readings = 0;
  let calls: Set<string> | undefined;
  const add = (...entries: readonly LogEntry[]): void => {
    append(log, entries);
    readings += readingsIn(entries, folded);
  };
  /** Puts readings before all that the model said in the answer that ends the log. */
  const insertReadings = (opened: readonly string[], place: number): void => {
    let at = log.length;
    while (at > 0 && isSaid(log[at - 1], place)) at--;
    const said = log.splice(at);
    const first = readings + 1;
    for (const [index, path] of opened.entries()) {
      const times = restored.get(path) ?? 0;
      const exchange = times < MAX_READINGS ? readingOf(path, first + index, folded) : undefined;
      if (exchange === undefined) continue;
      restored.set(path, times + 1);
      add(...entriesOf(exchange, folded, place));
    }
    append(log, said);
  };
  for (const [at, item] of own.items.entries()) {
    if (folded.emptied.has(at)) continue;
    const place = itemPlace(own, at);
    const hidden = item.type === "reasoning" ? readSeal(item.encrypted)?.hidden : undefined;
    if (hidden !== undefined) add(...entriesOf(hidden, folded, place));
    else if (item.type === "call") {
      const opened = openedIn(item.id, folded.catalog);
      if (opened.length > 0) insertReadings(opened, place);
      add(callEntry(item, folded, place));
    } else if (folded.searches.has(at) && item.type === "result") {
      calls ??= new Set(own.items.flatMap((one) => (one.type === "call" ? [one.id] : [])));
      log.push(entry(searchResult(item, calls), place));
    } else if (item.type === "result" && item.name !== undefined)
      // Its call may have another name now.
      log.push(entry({ ...item, name: undefined }, place));
    else log.push(entry(item, place));
  }
  return log;
}

export const entry = (item: Item, place: number, by: OpenedBy = "history"): LogEntry => ({
  added: { item },
  opens: [],
  by,
  place,
});

/** A client's past call under the catalogue's name. Its section is open, because the model knows the tool. */
function callEntry(call: Call, folded: Folded, place: number): LogEntry {
  const known = call.kind === "function" ? folded.byIdentity.get(identityKey(call)) : undefined;
  if (known === undefined) return entry(call, place);
  const { namespace: _, ...rest } = call;
  const item = { ...rest, name: clientName(known.name) };
  return { added: { item }, opens: [known.section], by: "history", place };
}

/** The result of a client's search as text: the tools that it found are in the catalogue. */
function searchResult(result: Result, calls: ReadonlySet<string>): Result {
  const found = (result.declares?.tools ?? []).flatMap((tool) =>
    tool.type === "namespace" ? tool.tools.map(({ name }) => name) : [tool.name],
  );
  const text = `These tools were found; their sections can be read: ${found.join(", ")}.`;
  return {
    ...result,
    kind: calls.has(result.call) ? "function" : result.kind,
    parts: [{ type: "text", text }],
    declares: undefined,
    extra: undefined,
  };
}

/** An exchange in two items; none if its sections are no longer in the catalogue. */
export function entriesOf(
  exchange: HiddenExchange,
  { catalog, names }: Words,
  place: number,
): readonly LogEntry[] {
  const { id, of, input, text } = exchange;
  const opens = exchange.opens.filter((path) => catalog.byPath.has(path));
  if (exchange.opens.length > 0 && opens.length === 0) return [];
  const loaded = exchange.loaded.filter((name) => catalog.tools.has(name));
  const name = clientName(of === "read" || of === "call" ? names[of] : of.tool);
  const parts = [{ type: "text", text } as const];
  const result: Result = { type: "result", call: id, kind: "function", parts };
  return [
    entry({ type: "call", id, kind: "function", name, input }, place, "model"),
    { added: { item: result, ...(loaded.length > 0 && { loaded }) }, opens, by: "model", place },
  ];
}

const isSaid = (one: LogEntry | undefined, place: number): boolean =>
  one !== undefined &&
  one.place === place &&
  isByModel(one.added.item) &&
  one.added.item.type !== "call";

/** The number of sections that were read so far. */
export function readingsIn(log: readonly LogEntry[], { names }: Words): number {
  let count = 0;
  for (const { added } of log)
    if (added.item.type === "call" && added.item.name === clientName(names.read)) count++;
  return count;
}

/**
 * The reading of one section in the form that can be made again from its key
 * alone, byte for byte: for clients whose dialect has no place for a seal.
 */
export function readingOf(
  path: string,
  number: number,
  { catalog, names }: Words,
): HiddenExchange | undefined {
  const state = stateOf({ params: {}, session: new Session() }, new Map());
  const reading = readCatalog(catalog, path, state, names.read);
  if (reading.type === "unknown") return undefined;
  return {
    id: `section_${number}`,
    of: "read",
    input: JSON.stringify({ key: reading.path }),
    text: readingText(reading),
    opens: reading.type === "opened" ? reading.opens : [],
    loaded: reading.tools.map(({ name }) => name),
  };
}

/** The tools of a request while the same sections are open: made once, so that their plan is found again. */
export type FoldedList = {
  readonly tools: readonly Tool[];
  /** Folded tools that are declared by themselves. */
  readonly declared: ReadonlySet<string>;
  /** The list of sections, if the loader's description has no room for it. */
  readonly catalogue: Message | undefined;
  /** The client's path of each declared tool, by its path in `tools`. */
  readonly paths: ReadonlyMap<string, string>;
  readonly bytes: number;
  /** The verdicts of plans in the words of the client's request. */
  readonly verdicts: WeakMap<readonly ToolVerdict[], readonly ToolVerdict[]>;
};

/** The request of one round. */
export type FoldedQuestion = {
  readonly turn: Turn;
  readonly list: FoldedList;
  readonly disclosure: Disclosure;
  /** The open sections. Calls of the answer open more. */
  readonly session: Session;
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
  const { catalog, strategy, names, forced: direct, maxDescription } = folded;
  const openings = openingsIn(log, folded, loads);
  const session = new Session([THREAD_START, ...openings]);
  const scope = { params: {}, session };
  const disclosure = { catalog, scope, strategy, names, base: [], direct, loads, maxDescription };
  const list = listFor(own, folded, disclosure, openings);
  const items = lowerItems(
    disclosure,
    list.declared,
    log.map(({ added }) => added),
  );
  const places = placesOf(log, items, folded);
  const { tools, catalogue } = list;
  const turn: Turn = {
    ...own,
    tools,
    toolChoice: tools.length === 0 ? undefined : folded.choice,
    items: catalogue === undefined ? items : [catalogue, ...items],
    places:
      catalogue === undefined
        ? places
        : [own.items.length === 0 ? 0 : itemPlace(own, 0), ...places],
    repairs: [...(own.repairs ?? []), foldingDecision(folded)],
  };
  return { turn, list, disclosure, session, sentBytes: list.bytes + openedBytes(log, items) };
}

const THREAD_START = {
  type: "thread-started",
  adapter: "",
  strategy: "",
  role: "system",
  timestamp: 0,
} as const;

export const openedSection = (path: string, by: OpenedBy): VisibilitySet => ({
  type: "visibility-set",
  path,
  visibility: "full",
  by,
  timestamp: 0,
});

/** The open sections as events. A list that grows holds only so many tools: those that were opened last. */
function openingsIn(
  log: readonly LogEntry[],
  folded: Folded,
  loads: boolean,
): readonly VisibilitySet[] {
  const { strategy } = folded;
  const isGrowing = strategy === "append" || (strategy === "native" && !loads);
  const events = log.flatMap(({ opens, by }) => opens.map((path) => openedSection(path, by)));
  if (!isGrowing) return events;
  const opened = events.map(({ path }) => path);
  const open = openWithin(folded, opened, loads);
  const others = [...open].filter((path) => !opened.includes(path));
  return [
    ...events.filter(({ path }) => open.has(path)),
    ...others.map((path) => openedSection(path, "choice")),
  ];
}

/** The sections that were opened last, as many as the upstream takes tools. */
function openWithin(
  { catalog, direct, max, forced }: Folded,
  opened: readonly string[],
  loads: boolean,
): ReadonlySet<string> {
  const declared = direct.reduce(
    (sum, tool) => sum + (tool.type === "namespace" ? tool.tools.length : 1),
    0,
  );
  let room = max - declared - (loads ? 1 : 0) - forced.size;
  // A model that may load no more and has no tool to call gets as many as there is room for.
  const isBare = !loads && opened.length === 0 && declared === 0;
  const kept = new Set<string>();
  for (const path of isBare ? catalog.nodes.map((node) => node.path) : opened.toReversed()) {
    const count = catalog.byPath.get(path)?.section.tools?.length ?? 0;
    if (kept.has(path) || count > room) continue;
    kept.add(path);
    room -= count;
  }
  return kept;
}

/** The most lists of tools that are remembered with one fold. */
const MAX_LISTS = 64;

function listFor(
  { traits }: Turn,
  folded: Folded,
  disclosure: Disclosure,
  openings: readonly VisibilitySet[],
): FoldedList {
  const { loads } = disclosure;
  const opened = openings.map(({ path, by }) => `${by} ${path}`);
  const key = `${loads} ${traits.strictFunctions} ${opened.join("\n")}`;
  let list = folded.lists.get(key);
  if (list === undefined) {
    list = makeList(folded, disclosure, traits.strictFunctions);
    if (folded.lists.size < MAX_LISTS) folded.lists.set(key, list);
  }
  return list;
}

function makeList(folded: Folded, disclosure: Disclosure, isStrict: boolean): FoldedList {
  const { names, direct, tools: known } = folded;
  const lowered = lower(disclosure);
  // A loader among strict functions says that it is not strict: any arguments may go through it.
  const loaders = lowered.tools.map((tool) => {
    const isLoader = tool.name === names.read || tool.name === names.call;
    return isStrict && isLoader && tool.type === "function" ? { ...tool, strict: false } : tool;
  });
  const tools = [...direct, ...loaders];
  const paths = new Map(folded.paths);
  for (const [at, { name }] of lowered.tools.entries()) {
    const path = known.get(name)?.path;
    if (path !== undefined) paths.set(`tools[${direct.length + at}]`, path);
  }
  const text = disclosure.loads ? lowered.catalogue : undefined;
  const catalogue: Message | undefined =
    text === undefined
      ? undefined
      : { type: "message", role: "system", parts: [{ type: "text", text }] };
  const bytes = toolBytes(tools) + (text === undefined ? 0 : utf8Length(text));
  return { tools, declared: lowered.declared, catalogue, paths, bytes, verdicts: new WeakMap() };
}

/** The places of the items in the client's own list. A reading that brings tools is sent as two items. */
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

/** The bytes of opened sections in the conversation. */
function openedBytes(log: readonly LogEntry[], items: readonly Item[]): number {
  const readings = new Set<string>();
  for (const { added } of log)
    if (added.loaded !== undefined && added.item.type === "result") readings.add(added.item.call);
  let bytes = 0;
  if (readings.size === 0) return bytes;
  for (const item of items) {
    if (item.type !== "result" || !readings.has(item.call)) continue;
    for (const part of item.parts) if (part.type === "text") bytes += utf8Length(part.text);
    bytes += toolBytes(item.declares?.tools ?? []);
  }
  return bytes;
}

function foldingDecision({ tools, catalog, names, strategy }: Folded): Decision {
  const reason =
    tools.size === 0
      ? "only the allowed tools are shown"
      : `${tools.size} tools in ${catalog.nodes.length} sections are opened with \`${names.read}\` (${strategy})`;
  return { path: "tools", action: "reshaped", reason };
}

/**
 * The plan of a folded request in the words of the request as the client sent
 * it: tools that stay are found at their own paths, folded tools are deferred,
 * and the loaders, which no client declared, are not listed.
 */
export function amendPlan(plan: Plan, folded: Folded, { list }: FoldedQuestion): Plan {
  const { paths } = list;
  let verdicts = list.verdicts.get(plan.verdicts);
  if (verdicts === undefined) {
    verdicts = amendVerdicts(plan.verdicts, folded, paths);
    list.verdicts.set(plan.verdicts, verdicts);
  }
  const decisions = plan.decisions.flatMap((decision): Decision[] => {
    const path = placeOf(decision.path, paths);
    return path === undefined ? [] : [path === decision.path ? decision : { ...decision, path }];
  });
  return { ...plan, verdicts, decisions };
}

function amendVerdicts(
  planned: readonly ToolVerdict[],
  { tools, deferred }: Folded,
  paths: ReadonlyMap<string, string>,
): readonly ToolVerdict[] {
  const own = new Map([...tools.values()].map((tool) => [tool.path, tool.client]));
  const verdicts = planned.flatMap((verdict) => {
    const path = placeOf(verdict.path, paths);
    return path === undefined ? [] : [{ ...verdict, ...own.get(path), path }];
  });
  const offered = new Set(verdicts.map(({ path }) => path));
  return [...verdicts, ...deferred.filter(({ path }) => !offered.has(path))];
}

/** The client's path of a path in the request; undefined for a tool that the client did not declare. */
function placeOf(path: string, paths: ReadonlyMap<string, string>): string | undefined {
  const [, own, rest = ""] = /^(tools\[\d+\](?:\.tools\[\d+\])?)(.*)$/s.exec(path) ?? [];
  if (own === undefined) return path;
  const known = paths.get(own);
  return known === undefined ? undefined : known + rest;
}
