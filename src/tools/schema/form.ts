import { whole, type Form } from "../kinds/kind.ts";
import type { Codec } from "./codec.ts";
import { exactly } from "./exact.ts";

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
