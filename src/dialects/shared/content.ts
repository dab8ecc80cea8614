import type { Decision } from "../../turn/decision.ts";
import type { UpstreamName } from "../../turn/names.ts";
import { itemPath } from "../../turn/path.ts";
import type { DialectName, Extra, Fields, Part, Result, Turn } from "../../turn/turn.ts";

/**
 * Receives the reason why a part of a request was dropped, or another action on it. `within`: the
 * path of the part in its item.
 */
export type OnReason = (reason: string, action?: Decision["action"], within?: string) => void;

/** The decisions on the items of a turn while they are written. */
export type ItemNotes = {
  readonly decisions: Decision[];
  /** The index of the item that is written. */
  at: number;
  /** Repetitions count once. */
  readonly add: OnReason;
};

export function itemNotes(turn: Turn<UpstreamName>): ItemNotes {
  const decisions: Decision[] = [];
  const notes: ItemNotes = {
    decisions,
    at: 0,
    // The path never numbers a part: repairs of the history may have moved it.
    add(reason, action = "dropped", within = "") {
      const path = itemPath(turn, notes.at) + within;
      const last = decisions.at(-1);
      if (last?.path !== path || last.reason !== reason) decisions.push({ path, action, reason });
    },
  };
  return notes;
}

/** The decision for a result of an error in a dialect that does not mark errors. */
export const ERROR_IN_TEXT = "the text of the result states that it is an error";

/** Matches a text that reports an error by itself. */
const SAYS_ERROR = /^\W*(?:error|exception|fail|traceback)/i;

/** Marks a result as an error in its text. `report` is called if the text had to change. */
export function withErrorText(result: Result, report: () => void): Result {
  if (result.isError !== true) return result;
  const [first, ...rest] = result.parts;
  if (first?.type === "text" && SAYS_ERROR.test(first.text)) return result;
  report();
  return first?.type === "text" && first.text !== ""
    ? { ...result, parts: [{ ...first, text: `Error: ${first.text}` }, ...rest] }
    : { ...result, parts: [{ type: "text", text: "Error" }, ...result.parts] };
}

/** The OpenAI API refuses file data without a name; documents of other APIs need none. */
type File = Extract<Part, { type: "file" }>;

/** The decision for a file that got a name. */
export const FILE_NAMED =
  "a file that is sent along needs a name; one without is named by its type";

/** The name of a file. File data without a name is named by its type. */
export function fileName({ data, fileId, name }: File): string | undefined {
  if (data === undefined || fileId !== undefined || (name !== undefined && name !== ""))
    return name;
  const [, type = "application/pdf"] = /^data:([^;,]+)/.exec(data) ?? [];
  return `document.${endings[type] ?? /[A-Za-z0-9]+$/.exec(type)?.[0] ?? "bin"}`;
}

/** The file extensions of types whose last word is not the extension. */
const endings: Readonly<Record<string, string>> = {
  "application/msword": "doc",
  "application/octet-stream": "bin",
  "application/vnd.ms-excel": "xls",
  "application/vnd.ms-powerpoint": "ppt",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "text/markdown": "md",
  "text/plain": "txt",
};

const dataUrl = /^data:([^;,]*)[^,]*?(;base64)?,/s;

/** The type and the content of a data URL, in base64; undefined for other URLs. */
export function readDataUrl(
  url: string,
): { readonly type: string; readonly data: string } | undefined {
  const [head, type = "", isBytes] = dataUrl.exec(url) ?? [];
  if (head === undefined) return undefined;
  const content = url.slice(head.length);
  return { type, data: isBytes === undefined ? bytesOf(content) : content };
}

/** The unencoded text of a data URL, as bytes in base64. */
function bytesOf(text: string): string {
  let binary = "";
  try {
    for (const byte of new TextEncoder().encode(decodeURIComponent(text)))
      binary += String.fromCharCode(byte);
  } catch {
    return ""; // The text has no bytes: the part is left out for that.
  }
  return btoa(binary);
}

/** The text in place of content that a dialect has no form for: it may be the only content. */
export const leftOutText = ({ type }: Part): string =>
  `(Here was ${type === "opaque" ? "" : `${type} `}content that cannot be shown.)`;

const nothing: Fields = {};

/** The unknown fields that were kept for a dialect. */
export function ownExtra(extra: Extra | undefined, dialect: DialectName): Fields {
  if (extra?.dialect !== dialect) return nothing;
  return extra.hints === undefined ? extra.fields : { ...extra.fields, ...extra.hints };
}

/** Reports the fields that were kept for another dialect than the one written. Null is "not set". */
export function reportForeign(
  extra: Extra | undefined,
  own: DialectName,
  report: (reason: string) => void,
): void {
  if (extra === undefined || extra.dialect === own) return;
  for (const [key, value] of Object.entries(extra.fields))
    if (value !== null) report(`\`${key}\` is a field of the ${extra.dialect} dialect`);
}
