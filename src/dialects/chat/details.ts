import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf, filledText } from "../shared/loose.ts";

/** Where an answer keeps what was thought, as plain text. */
export const reasoningFields = [
  "reasoning_content",
  "reasoning",
  "reasoning_text",
  "thinking",
] as const;

export function reasoningTextIn(delta: Fields): string | undefined {
  for (const field of reasoningFields) {
    const text = filledText(delta[field]);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Where an entry of `reasoning_details` or `thinking_blocks` keeps what is streamed in pieces. */
const grows = ["text", "summary", "data", "thinking"] as const;

/** Adds a chunk's `reasoning_details` to what came before it. */
export function addDetails(known: Fields[], more: readonly unknown[]): void {
  for (const raw of more) {
    const piece = fieldsOf(raw);
    if (piece === undefined) continue;
    const last = known.at(-1);
    if (last === undefined || !isMore(last, piece)) {
      known.push(piece);
      continue;
    }
    const joined: Record<string, unknown> = { ...last };
    for (const [key, value] of Object.entries(piece))
      if (value !== null && value !== undefined) joined[key] = value;
    for (const key of grows)
      if (typeof last[key] === "string" && typeof piece[key] === "string")
        joined[key] = last[key] + piece[key];
    known[known.length - 1] = joined;
  }
}

/** Whether an entry is another piece of the one before it. Sealed ones are whole unless they are numbered. */
const isMore = (last: Fields, piece: Fields): boolean =>
  last.type === piece.type &&
  last.index === piece.index &&
  (piece.id == null || last.id == null || piece.id === last.id) &&
  (piece.index !== undefined || piece.data === undefined);

/** Adds a piece of what nobody here understands to what came before it: texts and lists go on. */
export function mergedPieces(known: Fields, piece: Fields): Fields {
  const all: Record<string, unknown> = { ...known };
  for (const [key, value] of Object.entries(piece)) all[key] = joined(known[key], value);
  return all;
}

function joined(before: unknown, piece: unknown): unknown {
  if (before === undefined || before === null) return piece;
  if (piece === undefined || piece === null || piece === before) return before;
  if (typeof before === "string" && typeof piece === "string") return before + piece;
  const [list, more] = [listOf(before), listOf(piece)];
  if (list !== undefined && more !== undefined) return joinedLists(list, more);
  const [fields, others] = [fieldsOf(before), fieldsOf(piece)];
  return fields !== undefined && others !== undefined ? mergedPieces(fields, others) : piece;
}

function joinedLists(list: readonly unknown[], more: readonly unknown[]): readonly unknown[] {
  const entries = list.map(fieldsOf).filter((entry) => entry !== undefined);
  if (entries.length < list.length) return [...list, ...more];
  addDetails(entries, more);
  return entries;
}

/** Whether they hold more than a person can read: what their model knows them again by. */
export const areSigned = (details: readonly unknown[] | undefined): boolean =>
  details?.some((raw) => {
    const { signature, data } = fieldsOf(raw) ?? {};
    return (filledText(signature) ?? filledText(data)) !== undefined;
  }) === true;

/** What a person can read of them. */
export function detailsText(details: readonly unknown[]): string {
  return details
    .map((raw) => {
      const detail = fieldsOf(raw);
      return (
        filledText(detail?.text) ??
        filledText(detail?.summary) ??
        filledText(detail?.thinking) ??
        ""
      );
    })
    .join("");
}
