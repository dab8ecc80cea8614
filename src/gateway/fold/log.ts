import { append } from "../../turn/append.ts";
import { identityKey } from "../../tools/names/identity.ts";
import { isByModel } from "../../turn/item.ts";
import { clientName } from "../../turn/names.ts";
import { itemPlace } from "../../turn/path.ts";
import { type ItemAdded, type OpenedBy, Session } from "../../agent/session.ts";
import { readingText, readSection, stateOf } from "../../agent/catalog.ts";

import { type HiddenExchange, readSeal } from "../../turn/seal.ts";
import type { Call, Item, Result, Turn } from "../../turn/turn.ts";
import { openedIn } from "./call-id.ts";
import type { Folded } from "./folded.ts";

/** An item of the conversation in the catalogue's words, and what was opened with it. */
export type LogEntry = {
  readonly added: Omit<ItemAdded, "type">;
  readonly opens: readonly string[];
  readonly by: OpenedBy;
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
  const log = new Log(folded);
  const calls = new Set(own.items.flatMap((item) => (item.type === "call" ? [item.id] : [])));
  for (const [at, item] of own.items.entries()) {
    if (folded.emptied.has(at)) continue;
    const place = itemPlace(own, at);
    if (item.type === "reasoning") {
      const exchange = readSeal(item.encrypted)?.hidden;
      log.add(exchange === undefined ? [plain(item, place)] : entriesOf(exchange, folded, place));
    } else if (item.type === "call") {
      const opened = openedIn(item.id, folded.catalog);
      if (opened.length > 0) log.insertReadings(opened, place);
      log.add([callEntry(item, folded, place)]);
    } else if (item.type === "result") {
      log.add([plain(resultFor(item, folded.searches.has(at), calls), place)]);
    } else log.add([plain(item, place)]);
  }
  return log.entries;
}

/** A section is put back so often at most: ids of 40 characters could else ask for a long one any number of times. */
const MOST_READ = 8;

/** A log in the making, which counts the readings in it. */
class Log {
  readonly entries: LogEntry[] = [];
  readonly #folded: Folded;
  readonly #restored = new Map<string, number>();
  #readings = 0;

  constructor(folded: Folded) {
    this.#folded = folded;
  }

  add(entries: readonly LogEntry[]): void {
    append(this.entries, entries);
    this.#readings += readingsIn(entries, this.#folded);
  }

  /** Puts readings before all that the model said in the answer that ends the log: no reading is among that. */
  insertReadings(opened: readonly string[], place: number): void {
    let at = this.entries.length;
    while (at > 0 && isSaid(this.entries[at - 1], place)) at--;
    const said = this.entries.splice(at);
    const first = this.#readings + 1;
    for (const [index, path] of opened.entries()) {
      const times = this.#restored.get(path) ?? 0;
      const exchange = times < MOST_READ ? readingOf(path, first + index, this.#folded) : undefined;
      if (exchange === undefined) continue;
      this.#restored.set(path, times + 1);
      this.add(entriesOf(exchange, this.#folded, place));
    }
    append(this.entries, said);
  }
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
function resultFor(result: Result, isSearch: boolean, calls: ReadonlySet<string>): Result {
  if (!isSearch) return result.name === undefined ? result : { ...result, name: undefined };
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
