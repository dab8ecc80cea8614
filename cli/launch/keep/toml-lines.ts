/** Finds the entries and headers of a TOML text by their lines. What it does not understand it passes over. */

import { withoutReturns, type Segment } from "./line-settings.ts";

const word = String.raw`(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')`;
const dotted = String.raw`${word}(?:\s*\.\s*${word})*`;
const header = new RegExp(String.raw`^\s*\[\[?\s*(${dotted})\s*\]\]?\s*(?:#.*)?$`);
const entry = new RegExp(String.raw`^\s*(${dotted})\s*=\s*`);

/** Each entry by its full path, whichever header it stands under. */
export function tomlSegments(written: readonly string[]): Segment[] {
  const lines = withoutReturns(written);
  const text = lines.join("\n");
  let start = 0;
  const starts = lines.map((line) => (start += line.length + 1) - line.length - 1);
  const segments: Segment[] = [];
  let table: readonly string[] = [];
  for (let first = 0; first < lines.length; first++) {
    const line = lines[first] ?? "";
    const [, opened] = header.exec(line) ?? [];
    if (opened !== undefined) {
      table = partsOf(opened);
      segments.push({ path: table, first, end: first + 1, isHeader: true });
      continue;
    }
    const [before, key] = entry.exec(line) ?? [];
    if (before === undefined || key === undefined) continue;
    const close = valueEnd(text, (starts[first] ?? 0) + before.length);
    let end = first + 1;
    while (end < lines.length && (starts[end] ?? 0) <= close) end++;
    segments.push({ path: [...table, ...partsOf(key)], first, end, isHeader: false });
    first = end - 1;
  }
  return segments;
}

const partsOf = (key: string): string[] =>
  (key.match(new RegExp(word, "g")) ?? []).map((part) => textOf(part) ?? part);

function textOf(part: string): string | undefined {
  if (part.startsWith("'")) return part.slice(1, -1);
  return part.startsWith('"') ? (valueOf(part) as string | undefined) : undefined;
}

/** Strings, comments, and whatever opens or closes; the rest is passed over. */
const token =
  /"""(?:[^\\]|\\[^])*?"""|'''[^]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[[\]{}\n]/g;

/** The line end, or that of the text, behind the value that begins there. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  token.lastIndex = start;
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const [sign] = found;
    if (sign === "[" || sign === "{") depth++;
    else if (sign === "]" || sign === "}") depth--;
    else if (sign === "\n" && depth <= 0) return found.index;
  }
  return text.length;
}

/** The value of a segment that is one string, number or switch. */
export function tomlValue(text: string): unknown {
  const [start = ""] = entry.exec(text) ?? [];
  const rest = text.slice(start.length).trimEnd();
  const [literal] = /^'[^'\n]*'(?=\s*(?:#.*)?$)/.exec(rest) ?? [];
  if (literal !== undefined) return literal.slice(1, -1);
  const [plain = ""] = /^(?:"(?:[^"\\\n]|\\.)*"|[\w.+-]+)(?=\s*(?:#.*)?$)/.exec(rest) ?? [];
  return valueOf(plain);
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // No value of ours is written like it.
  }
}
