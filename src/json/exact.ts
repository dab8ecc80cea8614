/**
 * A number in an object or list that JavaScript may round: a double holds any 15 digits, no
 * exponent above 308, and fewer digits below 1e-307. Texts may have the same form, so a match is
 * no proof.
 */
const LONG_NUMBER = /[:[,]\s*-?(?:[0-9.]{16}|[0-9.]+[eE][+-]?[0-9]{3})/;

/**
 * Parses JSON and keeps the spelling of numbers that JavaScript would round, so that a seed or the
 * bound of a schema does not change. Almost no text has such a number, so only a text that may
 * have one is parsed a second time.
 */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const mayBeRounded = typeof value === "number" || LONG_NUMBER.test(text);
  return mayBeRounded ? parseKeeping(text, isRounded) : value;
}

/** The same; undefined if the text is not JSON. */
export function exactJsonOf(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined; // The caller handles text that is not JSON.
  }
}

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
