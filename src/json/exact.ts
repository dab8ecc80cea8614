/** Parses JSON with the numbers that JavaScript would round kept as they are written. */

/**
 * The value of JSON text, with numbers that JavaScript would round kept as they
 * are written, so that a seed or the bound of a schema arrives as it was sent.
 * Almost no text has one: it is parsed as usual, and only again where it may.
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
    return undefined; // Others write what they like; the caller says what that means.
  }
}

/** No shorter decimal is rounded to another: a double holds any of 15 digits. */
const LEAST_DIGITS = 16;
/** Beyond 1e308 there is no number, and below 1e-307 digits are lost. */
const LONG_EXPONENT = /[0-9][eE][+-]?[0-9]{3}/;
/** The same two where a number may stand: digits are most often part of a text. */
const LONG_NUMBER = /[:[,]\s*-?(?:[0-9.]{16}|[0-9.]+[eE][+-]?[0-9]{3})/;

/**
 * Whether some number of a text may be another than its value has; false is
 * certain. Most of a long request is texts, so its values are looked through
 * first: that takes a tenth of the time of its characters.
 */
function mayBeRounded(value: unknown, text: string): boolean {
  const numbers = numbersIn(value, 0);
  if (numbers === NONE) return false;
  const isLong = hasLongRun(text) || (numbers === EXTREME && LONG_EXPONENT.test(text));
  return isLong && LONG_NUMBER.test(text);
}

/** What numbers a value holds: none, such as most are, or some that an exponent may have made. */
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
  // What is nested deeper is not looked at, and may hold any.
  if (depth === DEEPEST) return EXTREME;
  let found = NONE;
  if (Array.isArray(value)) {
    for (const one of value as readonly unknown[])
      if (typeof one !== "string") found = Math.max(found, numbersIn(one, depth + 1));
    return found;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  // What was parsed inherits no keys, and a list of its values would cost five times as much.
  for (const key in fields)
    if (typeof fields[key] !== "string") found = Math.max(found, numbersIn(fields[key], depth + 1));
  return found;
}

/** Whether there are so many digits and dots in a row: looks at every 16th character. */
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

/** A digit, or the dot that may stand among them. */
const isDigit = (code: number): boolean => (code >= 0x30 && code <= 0x39) || code === 0x2e;

/** Whether a number is another than its source says. */
const isRounded = (value: number, source: string): boolean =>
  String(value) !== source && decimal(String(value)) !== decimal(source);

/** A number in one form for all ways to write it: sign, digits, exponent. */
function decimal(source: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  // A source that is no number, such as `Infinity`, is like none that is.
  if (significant === "") return whole === "" ? source : `${sign}0`;
  const zeros = digits.length - significant.length;
  return `${sign}${significant}e${Number(exponent) - fraction.length + zeros}`;
}

/**
 * A number of JSON text that JavaScript would round, kept as it was written:
 * `JSON.stringify` writes it the same again. It is an object, which `isFields`
 * knows is none of fields.
 */
type RawNumber = { readonly rawJSON: string };

type Source = { readonly source?: string | undefined };

/** What engines have and the types of the language do not list yet. */
const json = JSON as unknown as {
  parse(text: string, revive: (key: string, value: unknown, at?: Source) => unknown): unknown;
  rawJSON?(text: string): RawNumber;
  isRawJSON?(value: unknown): value is RawNumber;
};

export const isRawNumber = (value: unknown): value is RawNumber => json.isRawJSON?.(value) === true;

/** The nearest number that JavaScript has, where one is kept as it was written. */
export const roundedNumber = (value: unknown): unknown =>
  isRawNumber(value) ? Number(value.rawJSON) : value;

/**
 * The value of JSON text, with those numbers kept as they are written of which
 * `keeps` says so. Throws where the text is not JSON. An engine without raw
 * JSON rounds them.
 */
const parseKeeping = (text: string, keeps: (value: number, source: string) => boolean): unknown =>
  json.parse(text, (_, value, at) =>
    typeof value === "number" && at?.source !== undefined && keeps(value, at.source)
      ? (json.rawJSON?.(at.source) ?? value)
      : value,
  );

/**
 * The value of JSON text; undefined if it is not JSON. Numbers may be longer
 * than ours, or written otherwise than we would: they are kept as written.
 */
export function exactly(text: string): unknown {
  try {
    return parseKeeping(text, (value, source) => JSON.stringify(value) !== source);
  } catch {
    return undefined; // As with any JSON of others: the caller says what that means.
  }
}
