/** The tags and keys of calls in text. */

/** The tag around a call. */
export const BLOCK = "use_tool";

const START =
  "A-Z_a-z\\u00C0-\\u00D6\\u00D8-\\u00F6\\u00F8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFF\\u200C\\u200D" +
  "\\u2070-\\u218F\\u2C00-\\u2FEF\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFFD\\u{10000}-\\u{EFFFF}";
const MORE = "\\-.0-9\\u00B7\\u0300-\\u036F\\u203F\\u2040";

/** A tag's name as XML has it, for use in a pattern with the flag `u`. */
export const TAG_NAME = `[${START}:][${START}${MORE}:]*`;

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
