import { append } from "../../turn/append.ts";
import { Fault } from "../../turn/fault.ts";
import { membersOf, skipBlanks, type Span } from "../../json/scan.ts";
import type { Fields } from "../../turn/turn.ts";
import { exactJsonOf, parseExactly } from "../../json/exact.ts";
import { jsonErrorPosition } from "../../json/grammar.ts";
import {
  checkPieces,
  defaultCounts,
  isSurelySmall,
  layOut,
  type CountLimits,
  type List,
} from "./request-counts.ts";
import { keepSource } from "./source-text.ts";

/** Shorter lists are cheaper to parse than to recognise. */
const SHORTEST = 64;
/** The number of lists that are kept, and of their characters. */
const MOST = 256;
const MOST_TEXT = 8 * 1024 * 1024;
/** A body may have the key in other places too; its own list is among the first. */
const TRIES = 4;
/** Lists of one length may differ in a single place; only a few of them are compared. */
const COMPARED = 8;
const KEY = '"tools":';
/** Takes the place of a list while the rest of the body is parsed. No request has it as a value. */
const MARK = "~list~";

const OPENING = 0x5b;
const CLOSING = 0x5d;
const OPENING_BRACE = 0x7b;

type Known = { readonly text: string; readonly tools: unknown };

/**
 * Reads request bodies as JSON, and gives the same `tools` array, the very same object, for the same
 * text. Agents send tens of kilobytes of unchanged tools with every request, so code that works on
 * the array can find its result by identity. The text of a body is kept with it, for upstreams that
 * are sent the same.
 */
export class BodyReader {
  /** Lists of tools that were read before. The last one used comes first. */
  readonly #known: Known[] = [];
  #size = 0;

  read(sent: string, limits = defaultCounts): Fields {
    if (isSurelySmall(sent, limits)) return this.#readShort(withoutMark(sent), limits);
    for (const steps = this.steps(sent, limits); ;) {
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  }

  /** Reads a body in steps, between which others may be served. A long body takes several. */
  *steps(sent: string, limits = defaultCounts): Generator<void, Fields> {
    const text = withoutMark(sent);
    if (isSurelySmall(text, limits)) return this.#readShort(text, limits);
    const body = yield* this.#readLong(text, limits);
    checkPieces(body, text.length, limits);
    return body;
  }

  #readShort(text: string, limits: CountLimits): Fields {
    const isKept = text.length >= SHORTEST;
    let body = isKept ? this.#recall(text) : undefined;
    if (body === undefined) {
      body = parse(text);
      if (isKept && Array.isArray(body.tools)) this.#learn(text, body.tools, ownTools(text));
      keepSource(body, { text });
    }
    checkPieces(body, text.length, limits);
    return body;
  }

  /** Scans a text before it is parsed, and parses its longest lists in portions. */
  *#readLong(text: string, limits: CountLimits): Generator<void, Fields> {
    if (text.charCodeAt(skipBlanks(text, 0)) !== OPENING_BRACE) throw notObject();
    const { parted, tools: span } = yield* layOut(text, limits);
    yield;
    const known = span && this.#find(text, span);
    const left = parted.filter(({ from }) => known === undefined || from !== span?.from);
    if (known !== undefined && span !== undefined) left.push(span);
    left.sort((one, other) => one.from - other.from);
    const body = parse(withMarks(text, left), text);
    for (const [at, list] of left.entries()) {
      const value =
        list === span && known !== undefined ? known.tools : yield* portions(text, list);
      // If a key is repeated, the last one counts.
      if (body[list.key] === markOf(at)) body[list.key] = value;
    }
    if (span !== undefined && known === undefined) this.#learn(text, body.tools, span);
    keepSource(body, { text, tools: span });
    return body;
  }

  /** Reads a body whose tools are known; undefined if they are not. */
  #recall(text: string): Record<string, unknown> | undefined {
    let at = text.indexOf(KEY);
    for (let tries = 0; at !== -1 && tries < TRIES; tries++, at = text.indexOf(KEY, at + 1)) {
      const from = skipBlanks(text, at + KEY.length);
      const list = this.#find(text, { from });
      if (list === undefined) continue;
      const end = from + list.text.length;
      const body = exactJsonOf(`${text.slice(0, from)}"${MARK}"${text.slice(end)}`) as
        | Record<string, unknown>
        | undefined;
      // Otherwise the key was an inner one, or a later one counts.
      if (body?.tools !== MARK) continue;
      body.tools = list.tools;
      keepSource(body, { text, tools: { from, end } });
      return body;
    }
    return undefined;
  }

  /** The known list whose text begins at a place and, if that is given, ends at another. */
  #find(
    text: string,
    { from, end }: { readonly from: number; readonly end?: number },
  ): Known | undefined {
    const known = this.#known;
    let compared = 0;
    for (const [place, list] of known.entries()) {
      const to = from + list.text.length;
      if (text.charCodeAt(to - 1) !== CLOSING || (end !== undefined && end !== to)) continue;
      // Comparing by `startsWith` takes longer than to parse the list.
      if (text.slice(from, to) !== list.text) {
        if (++compared === COMPARED) return undefined;
        continue;
      }
      if (place > 0) {
        known.splice(place, 1);
        known.unshift(list);
      }
      return list;
    }
    return undefined;
  }

  #learn(text: string, tools: unknown, { from, end }: Span = { from: 0, end: 0 }): void {
    if (end - from < SHORTEST || end - from > MOST_TEXT) return;
    if (this.#find(text, { from }) !== undefined) return;
    const known = this.#known;
    // A mere slice would keep the whole body in memory.
    known.unshift({ text: ` ${text.slice(from, end)}`.slice(1), tools });
    this.#size += end - from;
    while (known.length > MOST || this.#size > MOST_TEXT)
      this.#size -= known.pop()?.text.length ?? 0;
  }
}

/** Removes a byte order mark, which some clients write at the start. */
const withoutMark = (text: string): string =>
  text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;

const markOf = (at: number): string => `${MARK}${at}`;

function withMarks(text: string, lists: readonly Span[]): string {
  let marked = "";
  let copied = 0;
  for (const [at, { from, end }] of lists.entries()) {
    marked += `${text.slice(copied, from)}"${markOf(at)}"`;
    copied = end;
  }
  return marked === "" ? text : marked + text.slice(copied);
}

function* portions(text: string, { from, end, cuts }: List): Generator<void, unknown[]> {
  const whole: unknown[] = [];
  let begin = from + 1;
  for (const to of [...cuts, end - 1]) {
    yield;
    const portion = exactJsonOf(`[${text.slice(begin, to)}]`);
    // There must be a value between two commas.
    if (!Array.isArray(portion) || portion.length === 0) throw notJson(text);
    append(whole, portion);
    begin = to + 1;
  }
  return whole;
}

/** The span of the list under the body's own `tools` key, in text known to be an object with one. */
function ownTools(text: string): Span | undefined {
  let found: Span | undefined;
  for (const member of membersOf(text)) {
    if (member.key !== "tools") continue;
    // Another spelling of the key would not be found again.
    if (!text.startsWith(KEY, member.at)) return undefined;
    // If a key is repeated, the last one counts.
    found = text.charCodeAt(member.from) === OPENING ? member : undefined;
  }
  return found;
}

/** Parses a text. An error reports a place in `whole`, the body that the text was made of. */
function parse(text: string, whole = text): Record<string, unknown> {
  let body: unknown;
  try {
    body = parseExactly(text);
  } catch {
    throw notJson(whole); // The engine's error quotes the body, and may end up in a log.
  }
  if (typeof body === "object" && body !== null && !Array.isArray(body))
    return body as Record<string, unknown>;
  throw notObject();
}

const notObject = (): Fault =>
  new Fault(
    "request.invalid",
    'The request body must be a JSON object, such as {"model": "...", ...}.',
  );

function notJson(text: string): Fault {
  const flaw = jsonErrorPosition(text);
  const place = flaw === undefined ? "" : `line ${flaw.line}, column ${flaw.column}`;
  const what =
    flaw?.atEnd === true
      ? `it ends at ${place}, where ${flaw.expected} was expected. Send all of it`
      : `at ${place}, ${flaw?.expected ?? "something else"} was expected. Correct it there`;
  return new Fault("request.not_json", `The request body is not JSON: ${what}.`);
}
