/** The tags and keys of calls in text. */

/** The tag around a call. */
export const BLOCK = "use_tool";

const START =
  "A-Z_a-z\\u00C0-\\u00D6\\u00D8-\\u00F6\\u00F8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFF\\u200C\\u200D" +
  "\\u2070-\\u218F\\u2C00-\\u2FEF\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFFD\\u{10000}-\\u{EFFFF}";
const MORE = "\\-.0-9\\u00B7\\u0300-\\u036F\\u203F\\u2040";

/** A tag's name as XML has it, for use in a pattern with the flag `u`. */
const TAG_NAME = `[${START}:][${START}${MORE}:]*`;

const first = new RegExp(`^[${START}]$`, "u");
const later = new RegExp(`^[${START}${MORE}]$`, "u");

/** The empty key. */
const NOTHING = "_x_";

/**
 * A key as the name of a tag. What a tag's name cannot hold is written
 * `_xHHHH_`, as XML tools do, and so is the beginning of what would be read as
 * that. `isReserved` tells of names that mean something else here.
 */
export function encodeKey(key: string, isReserved: (key: string) => boolean): string {
  if (key === "") return NOTHING;
  const isTaken = key === BLOCK || key === NOTHING || isReserved(key);
  let tag = "";
  let at = 0;
  for (const char of key) {
    const isFit = (at === 0 ? first : later).test(char) && !isMistakable(key, at);
    tag += isFit && !(isTaken && at === 0) ? char : escaped(char);
    at += char.length;
  }
  return tag;
}

/** The key that a tag was named for. */
export function decodeKey(tag: string): string {
  if (!tag.includes("_x")) return tag;
  if (tag === NOTHING) return "";
  return tag.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** Whether an underscore, once the rest is encoded, would begin an escape that the key does not have. */
function isMistakable(key: string, at: number): boolean {
  if (key.charAt(at) !== "_" || !/^x[0-9A-Fa-f]{4}/.test(key.slice(at + 1, at + 6))) return false;
  const next = key.codePointAt(at + 6);
  if (next === undefined) return false;
  return next === 0x5f || !later.test(String.fromCodePoint(next));
}

const escaped = (char: string): string =>
  char
    .split("")
    .map((unit) => `_x${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`)
    .join("");

/** Escapes and unescapes the text of elements. */

const CDATA = "<![CDATA[";
const CDATA_END = "]]>";

/** What has a meaning in XML, what XML may not hold, and the break that its readers change. */
const UNSAFE = /(?![\t\n])[&<>"'\p{Cc}\p{Cs}\ufffe\uffff]/gu;

const named: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};
const meant: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

/** A text as the content of an element. White space at its ends is spelt out: readers trim. */
export function escapeText(text: string): string {
  const start = text.length - text.trimStart().length;
  const end = Math.max(start, text.trimEnd().length);
  const inner = text.slice(start, end).replaceAll(UNSAFE, (char) => named[char] ?? reference(char));
  return spelt(text.slice(0, start)) + inner + spelt(text.slice(end));
}

const reference = (char: string): string => `&#${char.charCodeAt(0)};`;
const spelt = (blank: string): string => blank.split("").map(reference).join("");

/** The text that the content of an element stands for. */
export function readText(content: string): string {
  const tidied = tidy(content);
  if (!tidied.includes(CDATA)) return unescaped(tidied);
  let text = "";
  let at = 0;
  for (let open = tidied.indexOf(CDATA); open !== -1; open = tidied.indexOf(CDATA, at)) {
    const end = tidied.indexOf(CDATA_END, open);
    const close = end === -1 ? tidied.length : end;
    text += unescaped(tidied.slice(at, open)) + tidied.slice(open + CDATA.length, close);
    at = close + CDATA_END.length;
  }
  return text + unescaped(tidied.slice(at));
}

/**
 * Content without the white space that only sets it apart from its tags. In a
 * text of several lines indentation may mean something, so that of such a text
 * only the line breaks beside the tags go.
 */
function tidy(content: string): string {
  const [start, end] = inside(content);
  if (start === end) return content.includes("\n") ? "" : content;
  const inner = content.slice(start, end);
  const isWrapped = inner.startsWith(CDATA) && inner.endsWith(CDATA_END);
  if (isWrapped || !inner.includes("\n")) return inner;
  const head = content.indexOf("\n");
  const tail = content.lastIndexOf("\n");
  const isReturn = content.charAt(tail - 1) === "\r";
  return content.slice(
    head < start ? head + 1 : 0,
    tail < end ? content.length : isReturn ? Math.max(end, tail - 1) : tail,
  );
}

/** Text without XML's white space at its ends. */
export const trimmed = (text: string): string => text.slice(...inside(text));

function inside(text: string): [from: number, to: number] {
  let [from, to] = [0, text.length];
  while (from < to && isSpace(text.charCodeAt(from))) from++;
  while (to > from && isSpace(text.charCodeAt(to - 1))) to--;
  return [from, to];
}

export const isSpace = (code: number): boolean =>
  code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** Entities that nobody knows stand for themselves, and so does what is no entity. */
const unescaped = (text: string): string =>
  text.includes("&")
    ? text.replaceAll(
        /&(?:#(\d{1,8})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));/g,
        (whole, decimal?: string, hex?: string, name?: string) => {
          if (name !== undefined) return meant[name] ?? whole;
          const code = Number.parseInt(decimal ?? hex ?? "", decimal === undefined ? 16 : 10);
          return code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
        },
      )
    : text;

/** An element in a block, from its first tag to its last. */
export type Child = {
  readonly tag: string;
  readonly from: number;
  readonly to: number;
  readonly content: string;
};

type Tag = {
  readonly name: string;
  readonly isClose: boolean;
  readonly from: number;
  readonly to: number;
  /** The tag that closes it; itself, if it is empty. */
  close?: Tag | undefined;
  /** It has none of its own, and the next is taken for it. */
  isLent?: boolean;
};

const TAG = new RegExp(`<(/?)(${TAG_NAME})(?:[ \\t\\r\\n][^<>]*?)?(/?)>`, "uy");

/**
 * The elements of a text, one behind the other; words between them count for
 * nothing. An element ends at its own closing tag, whatever stands in it.
 * Undefined where one is never closed: what belongs to it cannot be known.
 */
export function childrenOf(text: string): readonly Child[] | undefined {
  const children: Child[] = [];
  let end = 0;
  for (const { name, isClose, from, to, close, isLent } of paired(tagsOf(text))) {
    if (isClose || from < end) continue;
    if (close === undefined) return undefined;
    end = close.to;
    const content = text.slice(to, Math.max(to, close.from));
    // Not a word about the tag, but a block that follows one which was broken off.
    if (isLent === true && content.includes(`<${BLOCK}`)) return undefined;
    children.push({ tag: name, from, to: close.to, content });
  }
  return children;
}

function tagsOf(text: string): readonly Tag[] {
  const tags: Tag[] = [];
  for (let at = text.indexOf("<"); at !== -1; at = text.indexOf("<", at)) {
    if (text.startsWith("<![CDATA[", at)) {
      const end = text.indexOf("]]>", at);
      if (end === -1) return tags;
      at = end;
      continue;
    }
    TAG.lastIndex = at;
    const [whole = "<", slash, name, isEmpty] = TAG.exec(text) ?? [];
    if (name !== undefined) {
      const tag: Tag = { name, isClose: slash === "/", from: at, to: at + whole.length };
      if (isEmpty === "/") tag.close = tag;
      tags.push(tag);
    }
    at += whole.length;
  }
  return tags;
}

/** Tags of one name close each other from the inside out; what is left over, at the next that closes. */
function paired(tags: readonly Tag[]): readonly Tag[] {
  const opened = new Map<string, Tag[]>();
  for (const tag of tags) {
    const open = opened.get(tag.name) ?? [];
    opened.set(tag.name, open);
    const last = tag.isClose ? open.pop() : undefined;
    if (last !== undefined) last.close = tag;
    if (!tag.isClose && tag.close === undefined) open.push(tag);
  }
  const closing = new Map<string, Tag>();
  for (const tag of tags.toReversed()) {
    if (tag.isClose) closing.set(tag.name, tag);
    else if (tag.close === undefined) {
      tag.close = closing.get(tag.name);
      tag.isLent = true;
    }
  }
  return tags;
}
