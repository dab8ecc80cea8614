/** Writes the parts of messages and results. */

import { isFields } from "../../json/json.ts";
import type { Fields, Part } from "../../turn/turn.ts";
import { readDataUrl } from "../shared/content.ts";
import { filledText } from "../shared/loose.ts";
import { mediaTypeOf, ownGeminiExtra, partBeside } from "./wire.ts";

/** A part, or the reason why there cannot be one. `own`: the client speaks this dialect, so its file ids are valid. */
export function writePart(part: Part, own: boolean): Fields | string {
  const beside = "extra" in part ? partBeside(part.extra) : undefined;
  if (beside !== undefined) return beside;
  switch (part.type) {
    case "text":
      return { text: part.text, ...ownGeminiExtra(part.extra) };
    case "refusal":
      return { text: part.text };
    case "image":
      return media(part.url, part.fileId, { own, type: "image", beside: part.extra });
    case "file":
      return media(part.data ?? part.url, part.fileId, {
        own,
        type: "file",
        beside: part.extra,
        name: part.name,
      });
    case "audio": {
      const mimeType = part.format.includes("/")
        ? part.format
        : `audio/${audioTypes[part.format] ?? part.format}`;
      return isBase64(part.data)
        ? { inlineData: { mimeType, data: part.data }, ...ownGeminiExtra(part.extra) }
        : "the sound is not in base64";
    }
    case "opaque":
      return part.dialect === "gemini" && isFields(part.raw)
        ? part.raw
        : `the gemini dialect has no such part as one of the ${part.dialect} dialect`;
    default:
      return part satisfies never;
  }
}

const audioTypes: Readonly<Record<string, string>> = { mp3: "mpeg", pcm16: "pcm" };

type Medium = {
  readonly own: boolean;
  readonly type: "image" | "file";
  readonly beside: Extract<Part, { type: "image" }>["extra"];
  readonly name?: string | undefined;
};

const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/_-]+={0,2}$/.test(text);

function media(
  place: string | undefined,
  fileId: string | undefined,
  { own, type, beside, name }: Medium,
): Fields | string {
  const extra = ownGeminiExtra(beside);
  if (place === undefined)
    return own && fileId !== undefined
      ? { fileData: { fileUri: fileId }, ...extra }
      : "a file of another provider cannot be read here";
  const bytes = readDataUrl(place);
  const fallback = type === "image" ? "image/png" : "application/pdf";
  if (bytes !== undefined) {
    if (!isBase64(bytes.data)) return `the ${type} has no content`;
    return { inlineData: { mimeType: bytes.type || fallback, data: bytes.data }, ...extra };
  }
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(place)) {
    const mimeType = typeIn(place, type);
    return {
      fileData: { ...(mimeType !== undefined && { mimeType }), fileUri: place },
      ...extra,
    };
  }
  if (!isBase64(place)) return `the ${type} is neither an address nor in base64`;
  const mimeType =
    filledText(name) === undefined ? fallback : (typeIn(name ?? "", type) ?? fallback);
  return { inlineData: { mimeType, data: place }, ...extra };
}

/** The type of a medium by the end of its name or address. */
const typeIn = (name: string, type: "image" | "file"): string | undefined =>
  mediaTypeOf(name) ?? (type === "image" ? "image/jpeg" : undefined);
