/** The OpenAI API refuses a file that is sent along without a name; documents of others need none. */

import type { Part } from "../../turn/turn.ts";

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
