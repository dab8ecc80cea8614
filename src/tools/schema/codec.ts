import { append } from "../../turn/append.ts";
import { isFields } from "../../json/json.ts";
import { exactly, roundedNumber } from "../../json/exact.ts";
import { type Form, whole } from "../kinds/decoder.ts";

/**
 * Turns values of the client's schema into values of the schema the upstream
 * was given, and back. Neither direction fails: what does not have the expected
 * form is left as it is.
 */
export type Codec = {
  encode(value: unknown): unknown;
  decode(value: unknown): unknown;
};

export const apply = (
  codec: Codec | undefined,
  way: "encode" | "decode",
  value: unknown,
): unknown => (codec === undefined ? value : codec[way](value));

/** A value sent as JSON text, for what the upstream's schemas cannot describe. */
export const jsonText: Codec = {
  encode: (value) => JSON.stringify(value),
  decode(value) {
    if (typeof value !== "string") return value;
    const read = exactly(value);
    return read === undefined ? value : read;
  },
};

/** The one value of an object of one key. */
export const wrapped = (key: string, inner: Codec | undefined): Codec => ({
  encode: (value) => ({ [key]: apply(inner, "encode", value) }),
  decode(value) {
    const held = isFields(value) && Object.hasOwn(value, key) ? value[key] : value;
    return apply(inner, "decode", held);
  },
});

/** An object of any keys, sent as a list of `{key, value}`. */
export const entries = (inner: Codec | undefined): Codec => ({
  encode: (value) =>
    isFields(value)
      ? Object.entries(value).map(([key, held]) => ({
          key,
          value: apply(inner, "encode", held),
        }))
      : value,
  decode(value) {
    if (!Array.isArray(value) || !value.every(isEntry)) return value;
    return Object.fromEntries(value.map((pair) => [pair.key, apply(inner, "decode", pair.value)]));
  },
});

const isEntry = (pair: unknown): pair is { key: string; value: unknown } =>
  isFields(pair) && typeof pair.key === "string";

/** Values other than texts, sent as texts. */
export const texts = (values: readonly unknown[], words: readonly string[]): Codec => {
  const known = values.map((value) => JSON.stringify(value));
  return {
    encode(value) {
      const at = known.indexOf(JSON.stringify(value));
      // `1.0` is kept as it is written, and is 1 all the same.
      return words[at === -1 ? known.indexOf(JSON.stringify(roundedNumber(value))) : at] ?? value;
    },
    decode(value) {
      const at = typeof value === "string" ? words.indexOf(value) : -1;
      return at === -1 ? value : values[at];
    },
  };
};

export const list = (inner: Codec): Codec => ({
  encode: (value) => (Array.isArray(value) ? value.map((one) => inner.encode(one)) : value),
  decode: (value) => (Array.isArray(value) ? value.map((one) => inner.decode(one)) : value),
});

export const tuple = (inner: readonly (Codec | undefined)[], rest: Codec | undefined): Codec => {
  const of = (at: number): Codec | undefined => (at < inner.length ? inner[at] : rest);
  return {
    encode: (value) =>
      Array.isArray(value) ? value.map((one, at) => apply(of(at), "encode", one)) : value,
    decode: (value) =>
      Array.isArray(value) ? value.map((one, at) => apply(of(at), "decode", one)) : value,
  };
};

/** One property of an object on both sides. */
export type Field = {
  readonly client: string;
  readonly upstream: string;
  readonly codec: Codec | undefined;
  /**
   * What stands for its absence where the upstream wants every property: null,
   * or a list that is empty, where null is a value of its own.
   */
  readonly absent?: "null" | "list" | undefined;
};

/** What becomes of properties the schema does not name: all under one key, or each where it is. */
export type Rest = { readonly key?: string | undefined; readonly codec: Codec };

/** An object, property by property. */
export function fieldwise(fields: readonly Field[], rest: Rest | undefined): Codec {
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
          const given = field.absent === undefined ? held : present(field.absent, held);
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

/** What a property holds that may stand for its own absence; nothing if it does. */
function present(absent: "null" | "list", held: unknown): unknown {
  if (absent === "null" || !Array.isArray(held)) return held ?? undefined;
  return held.length === 0 ? undefined : held[0];
}

/** A codec of values, for arguments as JSON text. What is not JSON stays as it is. */
export const jsonForm = (codec: Codec): Form => ({
  encode: (input) => through(input, (value) => codec.encode(value)),
  decoder: () => whole((text) => through(text, (value) => codec.decode(value))),
});

function through(text: string, change: (value: unknown) => unknown): string {
  const value = exactly(text);
  if (value === undefined) return text;
  try {
    const changed = JSON.stringify(change(value));
    // The text may be written in its own way.
    return changed === JSON.stringify(value) ? text : changed;
  } catch (error) {
    // Nested deeper than we can follow, or described by a schema that refers to nothing but itself.
    if (error instanceof RangeError) return text;
    throw error;
  }
}
