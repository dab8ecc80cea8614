/** Reads the parts of a content that are texts, media and results. */

import { isFields } from "../../json/json.ts";
import type { Fields, Part } from "../../turn/turn.ts";
import { given, inputText } from "../shared/loose.ts";
import { invalid, optionalTextAt, textAt, type Repair } from "../shared/shape.ts";
import { camelFieldsAt, optionalListOf } from "./read-fields.ts";
import { besidePart, geminiExtra, mediaTypeOf } from "./wire.ts";

/** Reads media that a part brings along or refers to; `rest`: the fields beside them. */
export function readMedia(part: Fields, path: string): Part {
  const { inlineData, fileData, thought: _, thoughtSignature: __, ...rest } = part;
  if (inlineData != null) return readBytes(inlineData, `${path}.inlineData`, rest);
  const where = `${path}.fileData`;
  const file = camelFieldsAt(fileData, where, "an object with `fileUri`");
  const uri = textAt(file.fileUri, `${where}.fileUri`);
  const mimeType = optionalTextAt(file.mimeType, `${where}.mimeType`) ?? mediaTypeOf(uri) ?? "";
  const name = optionalTextAt(file.displayName, `${where}.displayName`);
  const extra = besidePart(part, given(rest));
  // Files that the provider keeps, and videos of its own site, have no meaning elsewhere.
  if (!isPublic(uri)) return { type: "opaque", dialect: "gemini", raw: part };
  if (mimeType.startsWith("image/")) return { type: "image", url: uri, ...extra };
  return documents.test(mimeType)
    ? { type: "file", url: uri, ...given({ name }), ...extra }
    : { type: "opaque", dialect: "gemini", raw: part };
}

const documents = /^(?:application\/pdf|text\/|application\/json)/;

/** True for an address that every provider can read. */
const isPublic = (uri: string): boolean =>
  /^https?:\/\//i.test(uri) &&
  !/^https?:\/\/(?:generativelanguage\.googleapis\.com|storage\.cloud\.google\.com|(?:www\.|m\.)?youtube\.com|youtu\.be)(?:[:/]|$)/i.test(
    uri,
  );

const BYTES = "an object with `mimeType` and `data`";

function readBytes(raw: unknown, path: string, rest: Fields): Part {
  const { mimeType, data: text, displayName, ...more } = camelFieldsAt(raw, path, BYTES);
  const type = (optionalTextAt(mimeType, `${path}.mimeType`) ?? "").toLowerCase();
  const data = inOneAlphabet(textAt(text, `${path}.data`));
  const name = optionalTextAt(displayName, `${path}.displayName`);
  const extra = geminiExtra(given({ ...more, ...rest }));
  const [kind = "", format = ""] = type.split(/[/;]/);
  if (kind === "audio") return { type: "audio", data, format: formats[format] ?? format, ...extra };
  const url = `data:${type === "" ? "application/octet-stream" : type};base64,${data}`;
  if (kind === "image") return { type: "image", url, ...extra };
  return { type: "file", data: url, ...given({ name }), ...extra };
}

/** Names of audio formats in other dialects. */
const formats: Readonly<Record<string, string>> = {
  mpeg: "mp3",
  "x-wav": "wav",
  wave: "wav",
};

/** Some clients write bytes in the alphabet of URLs. */
const inOneAlphabet = (data: string): string =>
  data.includes("-") || data.includes("_") ? data.replaceAll("-", "+").replaceAll("_", "/") : data;

/** The content of a result. */
export type ReadResponse = { readonly parts: Part[]; readonly isError: boolean };

/** Reads the content of a result: its text, and media beside it. */
export function readResponse(
  { response, parts: media, name }: Fields,
  path: string,
  repair: Repair,
): ReadResponse {
  const parts = readOutput(response, name, () =>
    repair(`${path}.response`, "the API takes an object"),
  );
  for (const [at, raw] of optionalListOf(media, `${path}.parts`).entries()) {
    const where = `${path}.parts[${at}]`;
    const part = camelFieldsAt(raw, where, "an object with `inlineData` or `fileData`");
    if (!isMedia(part)) throw invalid(where, "must have `inlineData` or `fileData`");
    parts.push(readMedia(part, where));
  }
  return { parts, isError: isFailure(response) };
}

function readOutput(response: unknown, called: unknown, repair: () => void): Part[] {
  if (response == null) return [];
  if (isFields(response)) {
    if (Object.keys(response).length === 0) return [];
    return [{ type: "text", text: bareText(response, called) ?? JSON.stringify(response) }];
  }
  repair();
  return [{ type: "text", text: inputText(response) }];
}

/** Fields that hold all of a result. */
const whole = new Set(["output", "result", "content", "error"]);

/** The text of a result that has nothing else. Some clients add the name of the function. */
function bareText({ name, ...rest }: Fields, called: unknown): string | undefined {
  const isNamed = name !== undefined;
  const [key = "", ...others] = Object.keys(rest);
  const text = rest[key];
  const isBare = others.length === 0 && whole.has(key) && (isNamed || key !== "content");
  return isBare && (!isNamed || name === called) && typeof text === "string" ? text : undefined;
}

/** Names of fields in the results of failed calls. */
const ofFailures = new Set(["error", "name"]);

function isFailure(response: unknown): boolean {
  if (!isFields(response) || response.error == null || response.error === "") return false;
  return Object.keys(response).every((key) => ofFailures.has(key));
}

/** True for a part that holds media. */
const isMedia = (part: Fields): boolean => part.inlineData != null || part.fileData != null;

/** The texts of instructions: one content, its parts, or a text. */
export function readInstructions(raw: unknown, path: string, repair: Repair): Part[] {
  if (raw == null) return [];
  const isContent = isFields(raw) && raw.text === undefined;
  if (!isContent) repair(path, "the API takes a content with parts");
  const where = isContent ? `${path}.parts` : path;
  const parts = isContent ? raw.parts : typeof raw === "string" ? { text: raw } : raw;
  return optionalListOf(parts, where).flatMap((one, at): Part[] => {
    const inner = `${where}[${at}]`;
    const part = camelFieldsAt(one, inner, 'a part such as {"text":"Be brief."}');
    if (isMedia(part)) return [readMedia(part, inner)];
    if (part.text == null) return [{ type: "opaque", dialect: "gemini", raw: part }];
    const text = textAt(part.text, `${inner}.text`);
    return text === "" ? [] : [{ type: "text", text }];
  });
}
