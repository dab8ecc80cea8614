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
 * A key as the name of a tag. Characters that a tag cannot hold are written `_xHHHH_`, as XML tools
 * do, and so is the beginning of text that looks like such an escape. `isReserved` is true for
 * names with another meaning here.
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

export function decodeKey(tag: string): string {
  if (!tag.includes("_x")) return tag;
  if (tag === NOTHING) return "";
  return tag.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** True if an underscore of the key would look like the beginning of an escape. */
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

const CDATA = "<![CDATA[";
const CDATA_END = "]]>";

/** Characters with a meaning in XML, characters that XML may not hold, and the line break that readers change. */
const UNSAFE = /(?![\t\n])[&<>"'\p{Cc}\p{Cs}\ufffe\uffff]/gu;

/** The entities of XML, by the character and by the name. */
const charsByName: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};
const entities = new Map(Object.entries(charsByName).map(([name, char]) => [char, `&${name};`]));

/** Escapes a text as the content of an element, also white space at its ends, because readers trim it. */
export function escapeText(text: string): string {
  const start = text.length - text.trimStart().length;
  const end = Math.max(start, text.trimEnd().length);
  const inner = text
    .slice(start, end)
    .replaceAll(UNSAFE, (char) => entities.get(char) ?? reference(char));
  return asReferences(text.slice(0, start)) + inner + asReferences(text.slice(end));
}

const reference = (char: string): string => `&#${char.charCodeAt(0)};`;
const asReferences = (blank: string): string => blank.split("").map(reference).join("");

export function unescapeXml(content: string): string {
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
 * Content without the white space next to its tags. Indentation in a text of several lines may have
 * a meaning, so such a text loses only the line breaks next to the tags.
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

/** Unknown entities stay as they are. */
const unescaped = (text: string): string =>
  text.includes("&")
    ? text.replaceAll(
        /&(?:#(\d{1,8})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));/g,
        (whole, decimal?: string, hex?: string, name?: string) => {
          if (name !== undefined) return charsByName[name] ?? whole;
          const code = Number.parseInt(decimal ?? hex ?? "", decimal === undefined ? 16 : 10);
          return code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
        },
      )
    : text;

/** An element of a block, from its opening tag to its closing tag. */
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
  /** The tag that closes it; an empty element closes itself. */
  close?: Tag | undefined;
  /** True if its own closing tag is missing, and the next one of the same name closes it. */
  hasNoClose?: boolean;
};

const TAG = new RegExp(`<(/?)(${TAG_NAME})(?:[ \\t\\r\\n][^<>]*?)?(/?)>`, "uy");

/**
 * The elements of a text, in their order; text between them is ignored. An element ends at its own
 * closing tag, whatever it contains. Undefined if an element is never closed, because its content
 * is unknown.
 */
export function childrenOf(text: string): readonly Child[] | undefined {
  const children: Child[] = [];
  let end = 0;
  for (const { name, isClose, from, to, close, hasNoClose } of paired(tagsOf(text))) {
    if (isClose || from < end) continue;
    if (close === undefined) return undefined;
    end = close.to;
    const content = text.slice(to, Math.max(to, close.from));
    // The element was cut off, and another block follows.
    if (hasNoClose === true && content.includes(`<${BLOCK}`)) return undefined;
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

/** Pairs tags of one name from the inside out; an opening tag without a pair is closed by the next closing tag. */
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
      tag.hasNoClose = true;
    }
  }
  return tags;
}
