/**
 * Parses JSON and keeps the spelling of numbers that JavaScript would round, so that a seed or the
 * bound of a schema does not change. Almost no text has such a number, so only a text that may
 * have one is parsed a second time.
 */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return mayBeRounded(value, text) ? parseKeeping(text, isRounded) : value;
}

/** The same; undefined if the text is not JSON. */
export function exactJsonOf(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined; // The caller handles text that is not JSON.
  }
}

/** Numbers with fewer digits are never rounded: a double holds any 15 digits. */
const LEAST_DIGITS = 16;
/** Above 1e308 there is no double, and below 1e-307 digits are lost. */
const LONG_EXPONENT = /[0-9][eE][+-]?[0-9]{3}/;
/** Both, in the place of a number: most long digits are part of a text. */
const LONG_NUMBER = /[:[,]\s*-?(?:[0-9.]{16}|[0-9.]+[eE][+-]?[0-9]{3})/;

/**
 * True if the text may contain a rounded number; false is certain. The values are searched before
 * the characters: most of a long request is text, so that takes a tenth of the time.
 */
function mayBeRounded(value: unknown, text: string): boolean {
  const numbers = numbersIn(value, 0);
  if (numbers === NONE) return false;
  const isLong = hasLongRun(text) || (numbers === EXTREME && LONG_EXPONENT.test(text));
  return isLong && LONG_NUMBER.test(text);
}

/** The numbers in a value: none, numbers of usual size, or numbers that may have had an exponent. */
const NONE = 0;
const PLAIN = 1;
const EXTREME = 2;
const DEEPEST = 100;

function numbersIn(value: unknown, depth: number): number {
  if (typeof value === "number") {
    const size = Math.abs(value);
    return size > 1e-290 && size < 1e290 ? PLAIN : EXTREME;
  }
  if (typeof value !== "object" || value === null) return NONE;
  // Deeper values are not searched and may hold any number.
  if (depth === DEEPEST) return EXTREME;
  let found = NONE;
  if (Array.isArray(value)) {
    for (const one of value as readonly unknown[])
      if (typeof one !== "string") found = Math.max(found, numbersIn(one, depth + 1));
    return found;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  // Parsed objects inherit no keys, and a list of values would take five times as long.
  for (const key in fields)
    if (typeof fields[key] !== "string") found = Math.max(found, numbersIn(fields[key], depth + 1));
  return found;
}

/** True if the text has a run of 16 digits and dots: it checks every 16th character first. */
function hasLongRun(text: string): boolean {
  for (let at = LEAST_DIGITS - 1; at < text.length; at += LEAST_DIGITS) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let from = at;
    while (isDigit(text.charCodeAt(from - 1))) from--;
    let to = at + 1;
    while (to - from < LEAST_DIGITS && isDigit(text.charCodeAt(to))) to++;
    if (to - from >= LEAST_DIGITS) return true;
  }
  return false;
}

/** True for a digit or a decimal point. */
const isDigit = (code: number): boolean => (code >= 0x30 && code <= 0x39) || code === 0x2e;

/** True if a number differs from its source. */
const isRounded = (value: number, source: string): boolean =>
  String(value) !== source && decimal(String(value)) !== decimal(source);

/** A normal form of a number: sign, digits, exponent. */
function decimal(source: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  // `Infinity` is no source of JSON, and equals none.
  if (significant === "") return whole === "" ? source : `${sign}0`;
  const zeros = digits.length - significant.length;
  return `${sign}${significant}e${Number(exponent) - fraction.length + zeros}`;
}

/**
 * A number with its original spelling, which `JSON.stringify` writes again. It is an object, but
 * `isFields` is false for it.
 */
type RawNumber = { readonly rawJSON: string };

type Source = { readonly source?: string | undefined };

/** Functions of the engine that the types of the language do not list yet. */
const json = JSON as unknown as {
  parse(text: string, revive: (key: string, value: unknown, at?: Source) => unknown): unknown;
  rawJSON?(text: string): RawNumber;
  isRawJSON?(value: unknown): value is RawNumber;
};

export const isRawNumber = (value: unknown): value is RawNumber => json.isRawJSON?.(value) === true;

/** The nearest JavaScript number of a raw number; other values are unchanged. */
export const roundedNumber = (value: unknown): unknown =>
  isRawNumber(value) ? Number(value.rawJSON) : value;

/**
 * Parses JSON and keeps the spelling of the numbers for which `keeps` is true. Throws if the text is
 * not JSON. An engine without raw JSON rounds the numbers.
 */
const parseKeeping = (text: string, keeps: (value: number, source: string) => boolean): unknown =>
  json.parse(text, (_, value, at) =>
    typeof value === "number" && at?.source !== undefined && keeps(value, at.source)
      ? (json.rawJSON?.(at.source) ?? value)
      : value,
  );

/** Parses JSON and keeps the spelling of every number that JavaScript would write in another way; undefined if it is not JSON. */
export function exactly(text: string): unknown {
  try {
    return parseKeeping(text, (value, source) => JSON.stringify(value) !== source);
  } catch {
    return undefined; // The caller handles text that is not JSON.
  }
}
