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
