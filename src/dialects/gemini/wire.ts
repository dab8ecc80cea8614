/** The words of Gemini's API that its readers and writers share. */

import type { StopReason } from "../../turn/event.ts";
import type { Extra, Fields } from "../../turn/turn.ts";
import { fieldsOf, filledText, meaningsOf } from "../shared/loose.ts";

/** The API of this dialect, for fields that only it knows. */
const GEMINI = "gemini";

/** The member of a part that holds its content, by which the kind of the part is known. */
export const partKinds = [
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
] as const;
export type PartKind = (typeof partKinds)[number];

/** The kind of a part; undefined if the part holds at most a signature. */
export const partKind = (part: Fields): PartKind | undefined =>
  partKinds.find((kind) => part[kind] !== undefined && part[kind] !== null);

/** The types of a proto schema. Some clients also write them in JSON schemas. */
export const schemaTypes: ReadonlyMap<string, string> = new Map(
  ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"].map((type) => [
    type,
    type.toLowerCase(),
  ]),
);

const stops = meaningsOf<StopReason | "fail">({
  end: "STOP",
  length: "MAX_TOKENS",
  pause: "CONTINUATION",
  filter:
    "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII LANGUAGE IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR",
  fail: "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE",
});

/** The meaning of a `finishReason`; undefined for `OTHER` and unknown ones. `fail`: the answer is worthless. */
export const finishMeaning = (reason: string): StopReason | "fail" | undefined => stops.get(reason);

/** Fields that are kept for this dialect. `hints`: fields that are no loss elsewhere. */
export function geminiExtra(fields: Fields, hints?: Fields): { readonly extra?: Extra } {
  if (isBare(fields) && (hints === undefined || isBare(hints))) return none;
  return { extra: { dialect: GEMINI, fields, ...(hints !== undefined && { hints }) } };
}
const none = {};

function isBare(fields: Fields): boolean {
  for (const _ in fields) return false;
  return true;
}

/** All fields that were kept for this dialect. */
export const ownGeminiExtra = (extra: Extra | undefined): Fields =>
  extra?.dialect === GEMINI ? { ...extra.fields, ...extra.hints } : nothing;
const nothing: Fields = {};

/** Keeps the part of which other dialects are sent less than it says. */
export const besidePart = (part: Fields, fields: Fields): { readonly extra?: Extra } =>
  geminiExtra(fields, { part });

/** The part as its client sent it, to be sent in place of what was read of it. */
export const partBeside = (extra: Extra | undefined): Fields | undefined =>
  extra?.dialect === GEMINI ? fieldsOf(extra.hints?.part) : undefined;

/** The part that a signature in reasoning belongs to: the text before it, the thought itself, or the next call. */
export type SignedPart = "text" | "thought" | "next";

/** The mark of a reasoning item whose `encrypted` is a thought signature. */
export const signatureExtra = (on: SignedPart): { readonly extra?: Extra } =>
  on === "next" ? none : geminiExtra({}, { on });

export function signedPart(extra: Extra | undefined): SignedPart {
  const on = filledText(ownGeminiExtra(extra).on);
  return on === undefined ? "next" : on === "thought" ? "thought" : "text";
}

/** The name of a field in camel case. Clients and servers of protobuf take both forms in one body. */
export const camelName = (name: string): string =>
  name.replaceAll(/(?<=[A-Za-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** A field under either of its names. */
export function fieldIn(fields: Fields, camel: string, snake: string): unknown {
  const value = fields[camel];
  return value === undefined ? fields[snake] : value;
}

/** A list, or the one object that stands for a list of it. */
export function listed(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  return fieldsOf(value) === undefined ? [] : [value];
}

const mediaTypes: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  html: "text/html",
  json: "application/json",
  mp4: "video/mp4",
  mov: "video/quicktime",
  mp3: "audio/mpeg",
  wav: "audio/wav",
};

/** The type of a file by the end of its name or address. */
export function mediaTypeOf(name: string): string | undefined {
  const [, ending = ""] = /\.([A-Za-z0-9]{2,5})(?:[?#].*)?$/s.exec(name) ?? [];
  return mediaTypes[ending.toLowerCase()];
}
