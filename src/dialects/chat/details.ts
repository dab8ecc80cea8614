import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, textOf } from "../loose.ts";

/** Where an answer keeps what was thought, as plain text. */
export const thoughtFields = [
  "reasoning_content",
  "reasoning",
  "reasoning_text",
  "thinking",
] as const;

export function thoughtIn(delta: Fields): string | undefined {
  for (const field of thoughtFields) {
    const text = textOf(delta[field]);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Where an entry of `reasoning_details` keeps what is streamed in pieces. */
const grows = ["text", "summary", "data"] as const;

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

/** What a person can read of them. */
export function detailsText(details: readonly unknown[]): string {
  return details
    .map((raw) => {
      const detail = fieldsOf(raw);
      return textOf(detail?.text) ?? textOf(detail?.summary) ?? textOf(detail?.thinking) ?? "";
    })
    .join("");
}
