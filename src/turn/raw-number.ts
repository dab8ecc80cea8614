/**
 * A number of JSON text that JavaScript would round, kept as it was written:
 * `JSON.stringify` writes it the same again. It is an object, which `isFields`
 * knows is none of fields.
 */
export type RawNumber = { readonly rawJSON: string };

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
export const parseKeeping = (
  text: string,
  keeps: (value: number, source: string) => boolean,
): unknown =>
  json.parse(text, (_, value, at) =>
    typeof value === "number" && at?.source !== undefined && keeps(value, at.source)
      ? (json.rawJSON?.(at.source) ?? value)
      : value,
  );
