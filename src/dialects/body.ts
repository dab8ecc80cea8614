import { Fault } from "../turn/fault.ts";
import type { Fields } from "../turn/turn.ts";

/** Shorter lists are cheaper to parse than to recognise. */
const SHORTEST = 1024;
const MOST = 256;
const KEY = '"tools":';

type Known = { readonly text: string; readonly tools: unknown };

/**
 * Reads request bodies as JSON, and gives the same `tools` array, the very same
 * object, for the same text. Agents send tens of kilobytes of unchanged tools
 * with every request; whoever works on the array can then keep its result by
 * identity instead of doing it again.
 */
export function bodyReader(): (text: string) => Fields {
  const known = new Map<string, Known>();

  return (text) => {
    const at = text.indexOf(KEY);
    if (at === -1) return parse(text);
    const from = at + KEY.length;
    // The head tells lists apart well enough; the comparison below decides.
    const head = text.slice(from, from + 512);
    const found = known.get(head);
    if (found !== undefined && text.startsWith(found.text, from)) {
      const body = parse(`${text.slice(0, from)}0${text.slice(from + found.text.length)}`);
      // Not 0: the key was an inner one, or a later one counts.
      if (body.tools === 0) return { ...body, tools: found.tools };
    }
    const body = parse(text);
    learn(body.tools, text, from, head);
    return body;
  };

  function learn(tools: unknown, text: string, from: number, head: string): void {
    if (!Array.isArray(tools)) return;
    const end = arrayEnd(text, from);
    if (end === undefined || end - from < SHORTEST) return;
    const source = text.slice(from, end);
    // An inner `tools` would be another list than the body's own.
    if (JSON.stringify(JSON.parse(source)) !== JSON.stringify(tools)) return;
    known.delete(head);
    known.set(head, { text: source, tools });
    const oldest = known.keys().next();
    if (known.size > MOST && oldest.done !== true) known.delete(oldest.value);
  }
}

/** Where the array that begins after `from` ends, in text known to be JSON. */
function arrayEnd(text: string, from: number): number | undefined {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // a string: go to its end
        for (at++; text.charCodeAt(at) !== 0x22; at++) if (text.charCodeAt(at) === 0x5c) at++;
        break;
      case 0x5b:
      case 0x7b:
        depth++;
        break;
      case 0x5d:
      case 0x7d:
        if (--depth === 0) return at + 1;
        break;
    }
    if (depth === 0 && text.charCodeAt(at) > 0x20) return undefined;
  }
  return undefined;
}

function parse(text: string): Fields {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Fault("request.not_json", `The request body is not JSON: ${message}.`, {}, error);
  }
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Fields;
  throw new Fault("request.invalid", "The request body must be a JSON object.");
}
