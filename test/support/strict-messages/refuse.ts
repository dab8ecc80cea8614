import type { Body } from "../fake-upstream.ts";

/** Thrown by a rule, with the words of the API. */
export class Refused extends Error {
  override readonly name = "Refused";
}

export function refuse(message: string): never {
  throw new Refused(message);
}

export const listOf = (value: unknown): Body[] => (Array.isArray(value) ? (value as Body[]) : []);

/** The blocks of a message; a string is one of text. */
export const blocksOf = (content: unknown): Body[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
