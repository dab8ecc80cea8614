import type { Decision } from "../../turn/decision.ts";
import type { Medium } from "../../turn/profile.ts";
import type { Extra, Fields, Part, Result } from "../../turn/turn.ts";
import { writePart } from "./parts.ts";
import { ownExtra } from "./schema.ts";

/** Notes what became of the item at hand, or of the field `within` it. */
export type Note = (action: Decision["action"], reason: string, within?: string) => void;

const isPlain = (part: Part): boolean =>
  part.type === "text" && Object.keys(ownExtra(part.extra)).length === 0;

const textOf = (part: Part): string => (part.type === "text" ? part.text : "");

/**
 * The content of a message. Text is one string, which every upstream takes;
 * `asParts`: the client itself chose parts, in this dialect.
 */
export function writeContent(
  parts: readonly Part[],
  asParts: boolean,
  note: Note,
): string | Fields[] {
  if (parts.every(isPlain) && (parts.length < 2 || !asParts)) return parts.map(textOf).join("\n\n");
  return parts.flatMap((part, at) => {
    const written = writePart(part);
    if (typeof written !== "string") return [written];
    note("dropped", written, `.content[${at}]`);
    return [];
  });
}

/** What the client's dialect said and we did not understand goes back to it alone. */
export function writeExtra(extra: Extra | undefined, note: Note): Fields {
  if (extra === undefined || extra.dialect === "chat") return extra?.fields ?? {};
  for (const key of Object.keys(extra.fields)) note("dropped", "chat has no such field", `.${key}`);
  return {};
}

type WrittenResult = {
  readonly message: Fields;
  /** What a result cannot hold in chat, to be shown in a message behind the results. */
  readonly shown: readonly Fields[];
};

/** `media`: what the upstream takes in results besides text. */
export function writeResult(item: Result, media: readonly Medium[], note: Note): WrittenResult {
  const kept: Part[] = [];
  const shown: Fields[] = [];
  for (const [at, part] of item.parts.entries()) {
    const written = writePart(part);
    if (typeof written === "string") note("dropped", written, `.content[${at}]`);
    else if (isKept(part, media)) kept.push(part);
    else shown.push(written);
  }
  if (shown.length > 0) {
    note("changed", "in chat a result is text; the rest of it is sent in a user message behind");
    shown.unshift({ type: "text", text: `Result of call ${item.call}:` });
  }
  const isHollow = kept.length === 0 && shown.length > 0;
  const isText = kept.every(isPlain);
  const message = {
    ...writeExtra(item.extra, note),
    role: "tool",
    tool_call_id: item.call,
    ...(item.name === undefined ? {} : { name: item.name }),
    content: isHollow
      ? "The result is in the next user message."
      : isText
        ? kept.map(textOf).join("\n")
        : writeContent(kept, true, note),
  };
  return { message, shown };
}

const isKept = (part: Part, media: readonly Medium[]): boolean =>
  part.type === "image" || part.type === "file" || part.type === "audio"
    ? media.includes(part.type)
    : true;
