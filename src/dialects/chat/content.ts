import type { Decision } from "../../turn/decision.ts";
import type { Extra, Fields, Part, Result } from "../../turn/turn.ts";
import { reportForeign } from "../shared/foreign-fields.ts";
import { FILE_NAMED, fileName } from "../shared/file-name.ts";
import { leftOutText } from "../shared/left-out.ts";
import { writePart } from "./content-parts.ts";
import { ownExtra } from "./schema.ts";

/**
 * Notes what became of the item at hand, or of the field `within` it. Never of
 * one part by its number: mending may have moved it.
 */
export type Note = (action: Decision["action"], reason: string, within?: string) => void;

const isPlain = (part: Part): boolean =>
  part.type === "text" && Object.keys(ownExtra(part.extra)).length === 0;

const plainText = (part: Part): string => (part.type === "text" ? part.text : "");

/**
 * The content of a message. Text is one string, which every upstream takes;
 * `asParts`: the client itself chose parts, in this dialect.
 */
export function writeContent(
  parts: readonly Part[],
  asParts: boolean,
  note: Note,
): string | Fields[] {
  const shown = shownParts(parts, note, ".content");
  if (shown.every(isPlain) && (shown.length < 2 || !asParts))
    return shown.map(plainText).join("\n\n");
  return writeParts(shown, note, ".content");
}

const writeParts = (parts: readonly Part[], note: Note, field: string): Fields[] =>
  parts.flatMap((part) => {
    const written = writePart(part);
    if (typeof written === "string") return [];
    if (part.type === "file" && fileName(part) !== part.name) note("repaired", FILE_NAMED, field);
    return [written];
  });

/** The parts that chat has a form for, and words in place of the others; `field` is where they stand. */
export function shownParts(parts: readonly Part[], note: Note, field: string): Part[] {
  return parts.map((part) => {
    if (part.type === "text" && (part.annotations?.length ?? 0) > 0)
      note("dropped", "chat takes no annotations back", field);
    if (part.type === "text" && part.extra === undefined) return part;
    if (part.type !== "refusal" && part.type !== "opaque")
      reportForeign(part.extra, "chat", (reason) => note("dropped", reason, field));
    const written = writePart(part);
    if (typeof written !== "string") return part;
    note("dropped", written, field);
    return { type: "text", text: leftOutText(part) };
  });
}

/** Unknown fields of the client are sent to upstreams of its dialect only. */
export function writeExtra(extra: Extra | undefined, note: Note): Fields {
  if (extra === undefined || extra.dialect === "chat") return extra?.fields ?? {};
  for (const [key, value] of Object.entries(extra.fields))
    if (value !== null) note("dropped", "chat has no such field", `.${key}`);
  return {};
}

/** `field` is where the client has what the result holds. */
export function writeResult(item: Result, field: string, note: Note): Fields {
  const parts = shownParts(item.parts, note, field);
  return {
    ...writeExtra(item.extra, note),
    role: "tool",
    tool_call_id: item.call,
    ...(item.name === undefined ? {} : { name: item.name }),
    content: parts.every(isPlain)
      ? parts.map(plainText).join("\n")
      : writeParts(parts, note, field),
  };
}
