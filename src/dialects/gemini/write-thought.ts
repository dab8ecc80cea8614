/** Writes past reasoning as thoughts and signatures. */

import type { Fields, Reasoning } from "../../turn/turn.ts";
import { sealsIn } from "./signature.ts";
import { signedPart } from "./wire.ts";

export const isSigned = (part: Fields): boolean => part.thoughtSignature !== undefined;

export type WrittenThought = {
  readonly parts: readonly Fields[];
  /** The signature of another part. */
  readonly signature?: string | undefined;
};

/**
 * Past reasoning; undefined if another model thought it, which this API does not take back. `own`:
 * the client speaks this dialect, so it has the thoughts from this API.
 */
export function writeThought(item: Reasoning, own: boolean): WrittenThought | undefined {
  const { content, summary, encrypted, extra, details } = item;
  const text = (content.length > 0 ? content : summary).join("\n\n");
  // Seals are opened before; one that could not be is no signature.
  const signature =
    encrypted === undefined || sealsIn(encrypted) !== undefined ? undefined : encrypted;
  const isKnown = own || signature !== undefined || extra?.dialect === "gemini";
  if (!isKnown)
    return text === "" && encrypted === undefined && details === undefined
      ? { parts: [] }
      : undefined;
  const on = signedPart(extra);
  if (on === "thought" && signature !== undefined)
    return { parts: [{ text, thought: true, thoughtSignature: signature }] };
  return { parts: text === "" ? [] : [{ text, thought: true }], signature };
}
