import { exactly, roundedNumber } from "../../json/exact.ts";
import { isFields } from "../../json/json.ts";
import { append } from "../../turn/append.ts";
import { whole, type Form } from "../kinds/decoder.ts";

/**
 * Converts values of the client's schema into values of the schema that the
 * upstream got, and back. Neither direction fails: a value without the expected
 * form stays as it is.
 */
export type Codec = {
  encode(value: unknown): unknown;
  decode(value: unknown): unknown;
};

type Direction = keyof Codec;

export const apply = (codec: Codec | undefined, way: Direction, value: unknown): unknown =>
  codec === undefined ? value : codec[way](value);

const both = (convert: (value: unknown, way: Direction) => unknown): Codec => ({
  encode: (value) => convert(value, "encode"),
  decode: (value) => convert(value, "decode"),
});

/** Sends a value as JSON text, for values that the upstream's schemas cannot describe. */
export const jsonText: Codec = {
  encode: (value) => JSON.stringify(value),
  decode(value) {
    const read = typeof value === "string" ? exactly(value) : undefined;
    return read === undefined ? value : read;
  },
};

/** Sends a value as the only property of an object. */
export const wrapped = (key: string, inner: Codec | undefined): Codec => ({
  encode: (value) => ({ [key]: apply(inner, "encode", value) }),
  decode(value) {
    const held = isFields(value) && Object.hasOwn(value, key) ? value[key] : value;
    return apply(inner, "decode", held);
  },
});

/** Sends an object with any keys as a list of `{key, value}`. */
export const entries = (inner: Codec | undefined): Codec => ({
  encode: (value) =>
    isFields(value)
      ? Object.entries(value).map(([key, held]) => ({ key, value: apply(inner, "encode", held) }))
      : value,
  decode: (value) =>
    Array.isArray(value) && value.every(isEntry)
      ? Object.fromEntries(value.map((pair) => [pair.key, apply(inner, "decode", pair.value)]))
      : value,
});

const isEntry = (pair: unknown): pair is { key: string; value: unknown } =>
  isFields(pair) && typeof pair.key === "string";

/** Sends listed values as strings. */
export const texts = (values: readonly unknown[], words: readonly string[]): Codec => {
  const known = values.map((value) => JSON.stringify(value));
  return {
    encode(value) {
      const at = known.indexOf(JSON.stringify(value));
      // `1.0` keeps its spelling and still equals 1.
      return words[at === -1 ? known.indexOf(JSON.stringify(roundedNumber(value))) : at] ?? value;
    },
    decode(value) {
      const at = typeof value === "string" ? words.indexOf(value) : -1;
      return at === -1 ? value : values[at];
    },
  };
};

export const list = (inner: Codec): Codec => tuple([], inner);

export const tuple = (inner: readonly (Codec | undefined)[], rest: Codec | undefined): Codec =>
  both((value, way) =>
    Array.isArray(value)
      ? value.map((one, at) => apply(at < inner.length ? inner[at] : rest, way, one))
      : value,
  );

/** One property of an object on both sides. */
export type Field = {
  readonly client: string;
  readonly upstream: string;
  readonly codec: Codec | undefined;
  /**
   * Stands for its absence where the upstream requires every property: null, or
   * an empty list if null is a value of the property.
   */
  readonly absent?: "null" | "list" | undefined;
};

/** Properties without a name in the schema: all sent under one key, or each under its own. */
export type RestCodec = { readonly key?: string | undefined; readonly codec: Codec };

export function fieldwise(fields: readonly Field[], rest: RestCodec | undefined): Codec {
  const byClient = new Map(fields.map((field) => [field.client, field]));
  const byUpstream = new Map(fields.map((field) => [field.upstream, field]));
  const fillers = fields.filter((field) => field.absent !== undefined);
  return {
    encode(value) {
      if (!isFields(value)) return value;
      const out: [string, unknown][] = [];
      const others: [string, unknown][] = [];
      for (const [key, held] of Object.entries(value)) {
        const field = byClient.get(key);
        if (field === undefined) {
          if (rest?.key !== undefined) others.push([key, held]);
          else out.push([key, apply(rest?.codec, "encode", held)]);
        } else {
          const inner = apply(field.codec, "encode", held);
          out.push([field.upstream, field.absent === "list" ? [inner] : inner]);
        }
      }
      for (const { client, upstream, absent } of fillers)
        if (!Object.hasOwn(value, client)) out.push([upstream, absent === "list" ? [] : null]);
      if (rest?.key !== undefined)
        out.push([rest.key, rest.codec.encode(Object.fromEntries(others))]);
      return Object.fromEntries(out);
    },
    decode(value) {
      if (!isFields(value)) return value;
      const out: [string, unknown][] = [];
      for (const [key, held] of Object.entries(value)) {
        const field = byUpstream.get(key);
        if (field !== undefined) {
          const given = present(field, held);
          if (given !== undefined) out.push([field.client, apply(field.codec, "decode", given)]);
        } else if (key === rest?.key) {
          const others = rest.codec.decode(held);
          if (isFields(others)) append(out, Object.entries(others));
        } else out.push([key, rest?.key === undefined ? apply(rest?.codec, "decode", held) : held]);
      }
      return Object.fromEntries(out);
    },
  };
}

/** The value of a property; undefined if it stands for the property's absence. */
function present({ absent }: Field, held: unknown): unknown {
  if (absent === undefined) return held;
  if (absent === "null" || !Array.isArray(held)) return held ?? undefined;
  return held[0];
}

/** Converts arguments as JSON text by a codec of values. Text that is not JSON stays as it is. */
export const jsonForm = (codec: Codec): Form => ({
  encode: (input) => through(input, (value) => codec.encode(value)),
  decoder: () => whole((text) => through(text, (value) => codec.decode(value))),
});

function through(text: string, change: (value: unknown) => unknown): string {
  const value = exactly(text);
  if (value === undefined) return text;
  try {
    const changed = JSON.stringify(change(value));
    // An unchanged value keeps the spelling of its text.
    return changed === JSON.stringify(value) ? text : changed;
  } catch (error) {
    // The value is nested too deep, or its schema refers to nothing but itself.
    if (error instanceof RangeError) return text;
    throw error;
  }
}
