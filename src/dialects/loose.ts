import { isFields } from "../turn/json.ts";
import type { Fields } from "../turn/turn.ts";

// What an upstream sends may be anything. Each of these takes a value for what it
// should be, or gives nothing.

export const fieldsOf = (value: unknown): Fields | undefined =>
  isFields(value) ? value : undefined;

export const listOf = (value: unknown): readonly unknown[] | undefined =>
  Array.isArray(value) ? (value as readonly unknown[]) : undefined;

/** Text that says something: `""` is how many upstreams write "none". */
export const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

export const numberOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;
