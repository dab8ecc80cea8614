/** Writes the request of one round: the conversation with all hidden exchanges, and the folded list of tools. */

import { readingText, readCatalog, stateOf } from "../../agent/catalog.ts";
import { type Disclosure, lower, lowerItems } from "../../agent/lower.ts";
import { type ItemAdded, type OpenedBy, Session, type VisibilitySet } from "../../agent/session.ts";
import { identityKey } from "../../tools/names/identity.ts";
import type { Plan } from "../../tools/plan/plan.ts";
import type { ToolVerdict } from "../../tools/plan/declare.ts";
import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import { isByModel } from "../../turn/item.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { clientName } from "../../turn/names.ts";
import { itemPlace } from "../../turn/path.ts";
import { type HiddenExchange, readSeal } from "../../turn/seal.ts";
import type { Call, Item, Message, Result, Tool, Turn } from "../../turn/turn.ts";
import { utf8Length } from "../../turn/utf8-length.ts";
import { openedIn } from "./call-id.ts";
import { countTools, type Folded } from "./fold.ts";
import { toolBytes } from "./tool-size.ts";

/** An item of the conversation under the catalogue's names, and the sections that were opened with it. */
export type LogEntry = {
  readonly added: Omit<ItemAdded, "type">;
  readonly opens: readonly string[];
  readonly by: OpenedBy;
  /** The place of the client's own item that it belongs to. */
  readonly place: number;
};

/** Sections, and the names of the loaders. */
type SectionNames = Pick<Folded, "catalog" | "names">;

/** The most restored readings of one section: without a bound, many short call ids could repeat a long section. */
const MAX_READINGS = 8;

/**
 * Restores the conversation that the upstream saw from the items of the client: seals and call
 * ids bring back the hidden exchanges, and each called tool opens its section. An exchange whose
 * sections are no longer in the catalogue is left out; the model can read other sections.
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
  /** Inserts readings before the text and reasoning of the answer at the end of the log. */
  const insertReadings = (opened: readonly string[], place: number): void => {
    let at = log.length;
    while (at > 0 && isModelText(log[at - 1], place)) at--;
    const texts = log.splice(at);
    const first = readings + 1;
    for (const [index, path] of opened.entries()) {
      const times = restored.get(path) ?? 0;
      const exchange = times < MAX_READINGS ? readingOf(path, first + index, folded) : undefined;
      if (exchange === undefined) continue;
      restored.set(path, times + 1);
      add(...entriesOf(exchange, folded, place));
    }
    append(log, texts);
  };
  for (const [at, item] of own.items.entries()) {
    if (folded.stripped.has(at) && item.type !== "result") continue;
    const place = itemPlace(own, at);
    const hidden = item.type === "reasoning" ? readSeal(item.encrypted)?.hidden : undefined;
    if (hidden !== undefined) add(...entriesOf(hidden, folded, place));
    else if (item.type === "call") {
      const opened = openedIn(item.id, folded.catalog);
      if (opened.length > 0) insertReadings(opened, place);
      add(callEntry(item, folded, place));
    } else if (folded.stripped.has(at) && item.type === "result") {
      calls ??= new Set(own.items.flatMap((one) => (one.type === "call" ? [one.id] : [])));
      log.push(entry(searchResult(item, calls), place));
    } else if (item.type === "result" && item.name !== undefined)
      // The call may have another name in the catalogue.
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

/** A client's past call under the catalogue's name. It opens the section, because the model knows the tool. */
function callEntry(call: Call, folded: Folded, place: number): LogEntry {
  const known = call.kind === "function" ? folded.byIdentity.get(identityKey(call)) : undefined;
  if (known === undefined) return entry(call, place);
  const { namespace: _, ...rest } = call;
  const item = { ...rest, name: clientName(known.name) };
  return { added: { item }, opens: [known.section], by: "history", place };
}

/** The result of a client's search as a text: the tools that it found are in the catalogue. */
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

/** The call and the result of an exchange; no items if its sections are no longer in the catalogue. */
export function entriesOf(
  exchange: HiddenExchange,
  { catalog, names }: SectionNames,
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

const isModelText = (one: LogEntry | undefined, place: number): boolean =>
  one !== undefined &&
  one.place === place &&
  isByModel(one.added.item) &&
  one.added.item.type !== "call";

/** The number of calls that read a section. */
export function readingsIn(log: readonly LogEntry[], { names }: SectionNames): number {
  let count = 0;
  for (const { added } of log)
    if (added.item.type === "call" && added.item.name === clientName(names.read)) count++;
  return count;
}

/**
 * A reading of one section that depends only on its path and number: a dialect without a place
 * for seals restores it byte for byte from a call id.
 */
export function readingOf(
  path: string,
  number: number,
  { catalog, names }: SectionNames,
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

/** The tools of requests with the same open sections: one object, so that the plan for it is remembered. */
export type FoldedList = {
  readonly tools: readonly Tool[];
  /** Folded tools that are declared in `tools`. */
  readonly declared: ReadonlySet<string>;
  /** The list of sections, if the loader's description has no room for it. */
  readonly catalogue: Message | undefined;
  /** The client's paths of the declared tools (`clientPath`). */
  readonly paths: ReadonlyMap<string, string>;
  readonly bytes: number;
  /** Rewrites the verdicts of a plan for the paths and names of the client. */
  readonly amendVerdicts: (planned: readonly ToolVerdict[]) => readonly ToolVerdict[];
};

/** The request of one round. */
export type FoldedQuestion = {
  readonly turn: Turn;
  readonly list: FoldedList;
  /** Calls of the answer open more sections in its session. */
  readonly disclosure: Disclosure & { readonly scope: { readonly session: Session } };
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
  return { turn, list, disclosure, sentBytes: list.bytes + openedBytes(log, items) };
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

/** The open sections as events. If their tools join the list, only the last ones that fit in the upstream's maximum stay open. */
function openingsIn(
  log: readonly LogEntry[],
  { catalog, strategy, direct, max, forced }: Folded,
  loads: boolean,
): readonly VisibilitySet[] {
  const opened = log.flatMap(({ opens, by }) => opens.map((path) => openedSection(path, by)));
  if (strategy === "wrap" || (strategy === "native" && loads)) return opened;
  const declared = countTools(direct);
  // A model that can neither load nor call a tool receives the first sections that fit.
  const isBare = !loads && opened.length === 0 && declared === 0;
  const events = isBare ? catalog.nodes.map(({ path }) => openedSection(path, "choice")) : opened;
  let room = max - declared - (loads ? 1 : 0) - forced.size;
  const kept = new Set<string>();
  for (const { path } of isBare ? events : events.toReversed()) {
    const count = catalog.byPath.get(path)?.section.tools?.length ?? 0;
    if (kept.has(path) || count > room) continue;
    kept.add(path);
    room -= count;
  }
  return events.filter(({ path }) => kept.has(path));
}

/** The most remembered lists of one fold. */
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
  // If functions are strict by default, the loaders are declared as not strict: they take any arguments.
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
  const amendVerdicts = memoizeByIdentity((planned: readonly ToolVerdict[]) =>
    clientVerdicts(planned, folded, paths),
  );
  return { tools, declared: lowered.declared, catalogue, paths, bytes, amendVerdicts };
}

/** The place of each item in the client's own list. A reading that loads tools natively is sent as two items. */
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
 * Rewrites the plan of a folded request for the client's own request: declared tools have the
 * client's paths, folded tools are deferred, and the loaders are not listed.
 */
export function amendPlan(plan: Plan, { list: { paths, amendVerdicts } }: FoldedQuestion): Plan {
  const decisions = plan.decisions.flatMap((decision): Decision[] => {
    const path = clientPath(decision.path, paths);
    return path === undefined ? [] : [path === decision.path ? decision : { ...decision, path }];
  });
  return { ...plan, verdicts: amendVerdicts(plan.verdicts), decisions };
}

function clientVerdicts(
  planned: readonly ToolVerdict[],
  { tools, deferred }: Folded,
  paths: ReadonlyMap<string, string>,
): readonly ToolVerdict[] {
  const own = new Map([...tools.values()].map((tool) => [tool.path, tool.client]));
  const verdicts = planned.flatMap((verdict) => {
    const path = clientPath(verdict.path, paths);
    return path === undefined ? [] : [{ ...verdict, ...own.get(path), path }];
  });
  const offered = new Set(verdicts.map(({ path }) => path));
  return [...verdicts, ...deferred.filter(({ path }) => !offered.has(path))];
}

/**
 * The client's path of a path in the folded request; undefined for a tool that the client did not
 * declare. `paths` names members of a namespace only if some of its members were taken out.
 */
function clientPath(path: string, paths: ReadonlyMap<string, string>): string | undefined {
  const [, tool, member = "", rest = ""] =
    /^(tools\[\d+\])(\.tools\[\d+\])?(.*)$/s.exec(path) ?? [];
  if (tool === undefined) return path;
  const known = paths.get(tool + member);
  if (known !== undefined) return known + rest;
  const parent = paths.get(tool);
  return parent === undefined ? undefined : parent + member + rest;
}
