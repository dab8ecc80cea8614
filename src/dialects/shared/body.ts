import { Fault } from "../../turn/fault.ts";
import { membersOf, skipBlanks, type Span } from "../../turn/json-scan.ts";
import type { Fields } from "../../turn/turn.ts";
import { parseExactly } from "./exact-json.ts";
import { jsonErrorPosition } from "./json-position.ts";
import { keepSource } from "./source-text.ts";

/** Shorter lists are cheaper to parse than to recognise. */
const SHORTEST = 64;
/** How many lists are kept, and how many characters of them. */
const MOST = 256;
const MOST_TEXT = 8 * 1024 * 1024;
/** A body may have the key in other places too; its own list is among the first. */
const TRIES = 4;
/** Lists of one length may differ in a single place; not all of them are looked through. */
const COMPARED = 8;
const KEY = '"tools":';
/** Stands for a list while the rest of the body is parsed. No request means it as its tools. */
const MARK = "~tools~";

const OPENING = 0x5b;
const CLOSING = 0x5d;

type Known = { readonly text: string; readonly tools: unknown };

/**
 * Reads request bodies as JSON, and gives the same `tools` array, the very same
 * object, for the same text. Agents send tens of kilobytes of unchanged tools
 * with every request; whoever works on the array can then keep its result by
 * identity instead of doing it again. The text of a body is kept with it, for
 * upstreams that are sent the same.
 */
export function bodyReader(): (text: string) => Fields {
  /** The last one used comes first. */
  const known: Known[] = [];
  let size = 0;

  const find = (text: string, from: number): number => {
    let compared = 0;
    for (const [place, list] of known.entries()) {
      const to = from + list.text.length;
      if (text.charCodeAt(to - 1) !== CLOSING) continue;
      // Not `startsWith`: it goes by characters, which takes longer than to parse them.
      if (text.slice(from, to) === list.text) return place;
      if (++compared === COMPARED) break;
    }
    return -1;
  };
  const recall = (text: string): Fields | undefined => {
    let at = text.indexOf(KEY);
    for (let tries = 0; at !== -1 && tries < TRIES; tries++, at = text.indexOf(KEY, at + 1)) {
      const from = skipBlanks(text, at + KEY.length);
      const place = find(text, from);
      const list = known[place];
      if (list === undefined) continue;
      const to = from + list.text.length;
      const body = tryParse(`${text.slice(0, from)}"${MARK}"${text.slice(to)}`);
      // Otherwise the key was an inner one, or a later one counts.
      if (body?.tools !== MARK) continue;
      if (place > 0) {
        known.splice(place, 1);
        known.unshift(list);
      }
      body.tools = list.tools;
      keepSource(body, { text, tools: { from, end: to } });
      return body;
    }
    return undefined;
  };
  const learn = (text: string, tools: unknown): void => {
    if (!Array.isArray(tools)) return;
    const { from, end: to } = ownTools(text) ?? { from: 0, end: 0 };
    if (to - from < SHORTEST || to - from > MOST_TEXT) return;
    if (find(text, from) !== -1) return;
    // A mere slice would keep the whole body in memory.
    known.unshift({ text: ` ${text.slice(from, to)}`.slice(1), tools });
    size += to - from;
    while (known.length > MOST || size > MOST_TEXT) size -= known.pop()?.text.length ?? 0;
  };

  return (sent) => {
    // A byte order mark says nothing, and some write it before everything.
    const text = sent.charCodeAt(0) === 0xfeff ? sent.slice(1) : sent;
    const recalled = text.length < SHORTEST ? undefined : recall(text);
    if (recalled !== undefined) return recalled;
    const body = parse(text);
    if (text.length >= SHORTEST) learn(text, body.tools);
    keepSource(body, { text });
    return body;
  };
}

/** Where the list under the body's own `tools` key is, in text known to be an object with one. */
function ownTools(text: string): Span | undefined {
  let found: Span | undefined;
  for (const member of membersOf(text)) {
    if (member.key !== "tools") continue;
    // Another spelling of the key would not be found again.
    if (!text.startsWith(KEY, member.at)) return undefined;
    // Of two the later one counts.
    found = text.charCodeAt(member.from) === OPENING ? member : undefined;
  }
  return found;
}

function tryParse(text: string): Record<string, unknown> | undefined {
  try {
    return parseExactly(text) as Record<string, unknown>;
  } catch {
    return undefined; // The whole text is parsed then, and its error reported.
  }
}

function parse(text: string): Fields {
  let body: unknown;
  try {
    body = parseExactly(text);
  } catch {
    throw notJson(text); // The engine's error quotes the body, and may end up in a log.
  }
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Fields;
  throw new Fault(
    "request.invalid",
    'The request body must be a JSON object, such as {"model": "...", ...}.',
  );
}

function notJson(text: string): Fault {
  const flaw = jsonErrorPosition(text);
  const place = flaw === undefined ? "" : `line ${flaw.line}, column ${flaw.column}`;
  const what =
    flaw?.atEnd === true
      ? `it ends at ${place}, where ${flaw.expected} was expected. Send all of it`
      : `at ${place}, ${flaw?.expected ?? "something else"} was expected. Correct it there`;
  return new Fault("request.not_json", `The request body is not JSON: ${what}.`);
}
