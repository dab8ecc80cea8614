import { append } from "../../turn/append.ts";
import { identityKey } from "../../tools/names/identity.ts";
import { isByModel } from "../../turn/item.ts";
import { clientName } from "../../turn/names.ts";
import { itemPlace } from "../../turn/path.ts";
import type { ItemAdded, SetVisibilityOverride } from "../../disclosure/session.ts";
import { readSection } from "../../disclosure/read.ts";
import { readingText } from "../../disclosure/resolve.ts";
import { Session } from "../../disclosure/session.ts";
import { stateOf } from "../../disclosure/visibility.ts";
import type { Call, Item, Result, Turn } from "../../turn/turn.ts";
import { openedIn } from "./call-id.ts";
import { exchangeIn, type HiddenExchange } from "./exchange.ts";
import type { Folded } from "./folded.ts";

/** An item of the conversation in the catalogue's words, and what was opened with it. */
export type LogEntry = {
  readonly added: Omit<ItemAdded, "type">;
  readonly opens: readonly string[];
  readonly by: SetVisibilityOverride["by"];
  /** Which of the client's own items it belongs to. */
  readonly place: number;
};

/**
 * The conversation as the upstream has seen it, made of what the client sends:
 * hidden exchanges are put back from seals and call ids, and sections whose
 * tools were called are open. What cannot be found again is as if it had never
 * been: the model can read the section once more.
 */
export function restoreLog(own: Turn, folded: Folded): readonly LogEntry[] {
  const log: LogEntry[] = [];
  const calls = new Set<string>();
  for (const [at, item] of own.items.entries()) {
    if (folded.emptied.has(at)) continue;
    const place = itemPlace(own, at);
    if (item.type === "reasoning") {
      const exchange = exchangeIn(item.encrypted);
      if (exchange !== undefined) append(log, entriesOf(exchange, folded, place));
      else log.push(plain(item, place));
    } else if (item.type === "call") {
      const opened = openedIn(item.id, folded.catalog);
      if (opened.length > 0) insertReadings(log, opened, folded, place);
      log.push(callEntry(item, folded, place));
      calls.add(item.id);
    } else if (item.type === "result") {
      log.push(plain(resultFor(item, folded.searches.has(at), own), place));
    } else log.push(plain(item, place));
  }
  return log;
}

const plain = (item: Item, place: number): LogEntry => ({
  added: { item },
  opens: [],
  by: "history",
  place,
});

/** A client's past call under the catalogue's name. Its section is open: the model knows the tool. */
function callEntry(call: Call, folded: Folded, place: number): LogEntry {
  const known = call.kind === "function" ? folded.byIdentity.get(identityKey(call)) : undefined;
  if (known === undefined) return plain(call, place);
  const { namespace: _, ...rest } = call;
  return {
    added: { item: { ...rest, name: clientName(known.name) } },
    opens: [known.section],
    by: "history",
    place,
  };
}

/** A result says no name: its call may have another one now. Tools that a search found are in the catalogue. */
function resultFor(result: Result, isSearch: boolean, { items }: Turn): Result {
  if (!isSearch) return result.name === undefined ? result : { ...result, name: undefined };
  const found = (result.declares?.tools ?? []).flatMap((tool) =>
    tool.type === "namespace" ? tool.tools.map(({ name }) => name) : [tool.name],
  );
  const text = `These tools were found; their sections can be read: ${found.join(", ")}.`;
  const isCalled = items.some((item) => item.type === "call" && item.id === result.call);
  return {
    ...result,
    kind: isCalled ? "function" : result.kind,
    parts: [{ type: "text", text }],
    declares: undefined,
    extra: undefined,
  };
}

/** An exchange in two items. Sections that are no longer there cannot have been read. */
export function entriesOf(
  exchange: HiddenExchange,
  { catalog, names }: Pick<Folded, "catalog" | "names">,
  place: number,
): readonly LogEntry[] {
  const { id, of, input, text } = exchange;
  const opens = exchange.opens.filter((path) => catalog.byPath.has(path));
  if (exchange.opens.length > 0 && opens.length === 0) return [];
  const loaded = exchange.loaded.filter((name) => catalog.tools.has(name));
  const name = clientName(of === "read" || of === "call" ? names[of] : of.tool);
  const call: Call = { type: "call", id, kind: "function", name, input };
  const result: Result = {
    type: "result",
    call: id,
    kind: "function",
    parts: [{ type: "text", text }],
  };
  return [
    { added: { item: call }, opens: [], by: "model", place },
    { added: { item: result, ...(loaded.length > 0 && { loaded }) }, opens, by: "model", place },
  ];
}

/** Puts readings before all that the model said in the answer that ends the log. */
function insertReadings(
  log: LogEntry[],
  opened: readonly string[],
  folded: Folded,
  place: number,
): void {
  let at = log.length;
  while (at > 0 && isSaid(log[at - 1], place)) at--;
  const entries = opened.flatMap((path, index) => {
    const exchange = readingOf(path, readingsIn(log.slice(0, at), folded) + index + 1, folded);
    return exchange === undefined ? [] : entriesOf(exchange, folded, place);
  });
  const rest = log.splice(at);
  append(log, entries);
  append(log, rest);
}

const isSaid = (entry: LogEntry | undefined, place: number): boolean =>
  entry !== undefined &&
  entry.place === place &&
  isByModel(entry.added.item) &&
  entry.added.item.type !== "call";

/** How many sections were read so far. */
export const readingsIn = (log: readonly LogEntry[], { names }: Pick<Folded, "names">): number =>
  log.filter(({ added: { item } }) => item.type === "call" && item.name === clientName(names.read))
    .length;

/**
 * The reading of one section in the one form that can be made again from its key
 * alone, byte for byte: for clients whose dialect has no place for a seal.
 */
export function readingOf(
  path: string,
  number: number,
  { catalog, names }: Pick<Folded, "catalog" | "names">,
): HiddenExchange | undefined {
  const state = stateOf({ params: {}, session: new Session() }, new Map());
  const reading = readSection(catalog, path, state, names.read);
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
