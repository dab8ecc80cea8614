import type { DialectName, Extra, Part, Result } from "../../turn/turn.ts";

/** What is decided about a result that goes to a dialect without a mark for errors. */
export const ERROR_IN_TEXT = "a result that is an error is told so in its text";

/** Whether a text says by itself that it is about an error. */
const SAYS_ERROR = /^\W*(?:error|exception|fail|traceback)/i;

/**
 * A result for a dialect that has no mark for errors: its text says so. `report`
 * is called where that had to be added.
 */
export function withErrorText(result: Result, report: () => void): Result {
  if (result.isError !== true) return result;
  const [first, ...rest] = result.parts;
  if (first?.type === "text" && SAYS_ERROR.test(first.text)) return result;
  report();
  return first?.type === "text" && first.text !== ""
    ? { ...result, parts: [{ ...first, text: `Error: ${first.text}` }, ...rest] }
    : { ...result, parts: [{ type: "text", text: "Error" }, ...result.parts] };
}

/** The OpenAI API refuses a file that is sent along without a name; documents of others need none. */
type File = Extract<Part, { type: "file" }>;

/** What is decided about a file that got a name. */
export const FILE_NAMED =
  "a file that is sent along needs a name; one without is named by its type";

/** The name of a file, by its type where it is sent along and has none. */
export function fileName({ data, fileId, name }: File): string | undefined {
  if (data === undefined || fileId !== undefined || (name !== undefined && name !== ""))
    return name;
  const [, type = "application/pdf"] = /^data:([^;,]+)/.exec(data) ?? [];
  return `document.${endings[type] ?? /[A-Za-z0-9]+$/.exec(type)?.[0] ?? "bin"}`;
}

/** Types whose files end otherwise than in the type's last word. */
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

/** What a model is told in place of content that its dialect has no form for: it may be all there was. */
export const leftOutText = ({ type }: Part): string =>
  `(Here was ${type === "opaque" ? "" : `${type} `}content that cannot be shown.)`;

/** Reports the fields that were kept for another dialect than the one written; null says nothing. */
export function reportForeign(
  extra: Extra | undefined,
  own: DialectName,
  report: (reason: string) => void,
): void {
  if (extra === undefined || extra.dialect === own) return;
  for (const [key, value] of Object.entries(extra.fields))
    if (value !== null) report(`\`${key}\` is a field of the ${extra.dialect} dialect`);
}
