/**
 * Thought signatures: bytes in base64 that bind a part of an answer to the model that made it.
 * Clients give them back, so the seals of the gateway are written as signatures too.
 */

import { isSeal } from "../../turn/seal.ts";

/** The signature that the API takes for calls of another model. Some clients add it to calls without a signature. */
export const DUMMY = "skip_thought_signature_validator";
const dummies: ReadonlySet<string> = new Set([DUMMY, "context_engineering_is_the_way_to_go"]);

/**
 * The place of the reasoning of a seal: `before` or `behind` the texts since the last call, or the
 * signed part itself, if that is no call.
 */
export type SealPlace = "before" | "behind" | "part";

/** The first character of a line, by the place of its reasoning. */
const marks = { before: "", behind: "+", part: "=" } as const satisfies Record<SealPlace, string>;

/** A seal, or a signature of the model that is sent beside seals, as a line of a signature. */
export const sealLine = (seal: string, place: SealPlace): string => marks[place] + seal;

export type SealLine = { readonly text: string; readonly place: SealPlace };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Lines as one signature. Seals are JSON, so they contain no line break. */
export function sealedSignature(lines: readonly string[]): string {
  let binary = "";
  for (const byte of encoder.encode(lines.join("\n"))) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** The beginnings of a signature with seals: nine bytes for each mark, and so twelve characters. */
const beginnings = Object.values(marks).map((mark) => btoa(`${mark}patchbay:`.slice(0, 9)));

/** The lines of a signature with seals; undefined if a model made it. Clients may write it in the URL alphabet. */
export function sealsIn(signature: string): readonly SealLine[] | undefined {
  if (!beginnings.some((one) => signature.startsWith(one))) return undefined;
  const lines = textOf(signature)?.split("\n").map(readLine);
  return isSeal(lines?.[0]?.text) ? lines : undefined;
}

function readLine(line: string): SealLine {
  if (line.startsWith(marks.behind)) return { text: line.slice(1), place: "behind" };
  if (line.startsWith(marks.part)) return { text: line.slice(1), place: "part" };
  return { text: line, place: "before" };
}

/** A dummy in base64 has fewer characters. */
const LONGEST_DUMMY = 64;

/** True if a signature stands for a missing one. */
export const isDummy = (signature: string): boolean =>
  dummies.has(signature) ||
  (signature.length <= LONGEST_DUMMY && dummies.has(textOf(signature) ?? ""));

function textOf(signature: string): string | undefined {
  try {
    const binary = atob(signature.replaceAll("-", "+").replaceAll("_", "/"));
    return decoder.decode(Uint8Array.from(binary, (char) => char.charCodeAt(0)));
  } catch {
    return undefined; // It is not base64, so it holds no seal.
  }
}
