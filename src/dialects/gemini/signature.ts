/**
 * Thought signatures: bytes in base64 that bind a part of an answer to the model that made it.
 * Clients give them back, so the seals of the gateway are written as signatures too.
 */

import { isSeal } from "../../turn/seal.ts";

/** The signature that the API takes for calls of another model. Some clients add it to calls without a signature. */
export const DUMMY = "skip_thought_signature_validator";
const dummies: ReadonlySet<string> = new Set([DUMMY, "context_engineering_is_the_way_to_go"]);

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Seals as one signature. Seals are JSON, so they contain no line break. */
export function sealedSignature(seals: readonly string[]): string {
  let binary = "";
  for (const byte of encoder.encode(seals.join("\n"))) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** The seals in a signature; undefined if a model made it. Clients may write it in the URL alphabet. */
export function sealsIn(signature: string): readonly string[] | undefined {
  const seals = textOf(signature)?.split("\n");
  return isSeal(seals?.[0]) ? seals : undefined;
}

/** True if a signature stands for a missing one. */
export const isDummy = (signature: string): boolean =>
  dummies.has(signature) || dummies.has(textOf(signature) ?? "");

function textOf(signature: string): string | undefined {
  try {
    const binary = atob(signature.replaceAll("-", "+").replaceAll("_", "/"));
    return decoder.decode(Uint8Array.from(binary, (char) => char.charCodeAt(0)));
  } catch {
    return undefined; // It is not base64, so it holds no seal.
  }
}
