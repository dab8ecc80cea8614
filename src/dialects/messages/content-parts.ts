import type { Fields, Part } from "../../turn/turn.ts";
import { leftOutText, ownExtra, readDataUrl } from "../shared/content.ts";
import { fieldsOf, listOf, filledText } from "../shared/loose.ts";
import {
  fieldsAt,
  filledTextAt,
  invalid,
  optionalListAt,
  optionalTextAt,
  textAt,
} from "../shared/shape.ts";
import { isOwnCitation, readCitation, writeCitation } from "./answer-fields.ts";
import { besideWords, blockBeside, messagesExtra } from "./extra.ts";

/** The blocks of a message's content; a string is one of text. */
export function contentBlocks(content: unknown, path: string): readonly Fields[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (content === undefined || content === null) return [];
  if (!Array.isArray(content)) throw invalid(path, "must be a string or an array of blocks");
  return content.map((raw: unknown, at) => {
    const where = `${path}[${at}]`;
    const block = fieldsAt(raw, where, "a content block: an object with `type`");
    filledTextAt(block.type, `${where}.type`);
    return block;
  });
}

export const readParts = (content: unknown, path: string): Part[] =>
  contentBlocks(content, path).map((block, at) => readPart(block, `${path}[${at}]`));

/** Reads a block that is a part of a message or a result. */
export function readPart(block: Fields, path: string): Part {
  switch (block.type) {
    case "text": {
      const { type: _, text, citations, ...rest } = block;
      const annotations = optionalListAt(citations, `${path}.citations`).map(readCitation);
      return {
        type: "text",
        text: textAt(text, `${path}.text`),
        ...(annotations.length > 0 && { annotations }),
        ...messagesExtra(rest),
      };
    }
    case "image": {
      const { type: _, source, ...rest } = block;
      const place = placeOf(sourceAt(source, path), "image/png");
      return { type: "image", ...place, ...messagesExtra(rest) };
    }
    case "document":
      return readDocument(block, path);
    case "search_result":
      return { type: "text", text: searchResultText(block), extra: besideWords(block) };
    case "tool_reference":
      return { type: "text", text: referenceText(block), extra: besideWords(block) };
    default:
      return { type: "opaque", dialect: "messages", raw: block };
  }
}

function readDocument(block: Fields, path: string): Part {
  const { type: _, source: raw, title, ...rest } = block;
  const source = sourceAt(raw, path);
  const name = optionalTextAt(title, `${path}.title`);
  const context = optionalTextAt(rest.context, `${path}.context`);
  if (source.type === "text" || source.type === "content")
    return {
      type: "text",
      text: [name, context, sourceText(source)].filter(Boolean).join("\n\n"),
      extra: besideWords(block),
    };
  const { url: place, fileId } = placeOf(source, "application/pdf");
  const isData = source.type === "base64";
  return {
    type: "file",
    ...(isData ? { data: place } : { url: place }),
    fileId,
    ...(name !== undefined && { name }),
    ...messagesExtra(rest),
  };
}

const sourceKeys = ["media_type", "data", "url", "file_id"] as const;
type MediaSource = Fields & { readonly [Key in (typeof sourceKeys)[number]]?: string | null };

function sourceAt(raw: unknown, path: string): MediaSource {
  const where = `${path}.source`;
  const source = fieldsAt(raw, where, "an object with `type`");
  filledTextAt(source.type, `${where}.type`);
  for (const key of sourceKeys) optionalTextAt(source[key], `${where}.${key}`);
  return source;
}

/** The place of an image or a document: bytes become a data URL. */
function placeOf(source: MediaSource, otherwise: string): { url?: string; fileId?: string } {
  const { type, media_type, data, url, file_id } = source;
  if (type === "base64" && data != null)
    return { url: `data:${media_type ?? otherwise};base64,${data}` };
  if (file_id != null) return { fileId: file_id };
  return url == null ? {} : { url };
}

/** The text of a document that is text already. */
const sourceText = ({ data, content }: MediaSource): string =>
  typeof content === "string" ? content : (filledText(data) ?? textsIn(content));

const searchResultText = ({ title, source, content }: Fields): string =>
  [filledText(title), filledText(source), textsIn(content)].filter(Boolean).join("\n\n");

const referenceText = ({ tool_name }: Fields): string =>
  `The tool \`${String(tool_name)}\` is loaded and can be called from now on.`;

/** The texts of a list of blocks. A text cannot contain other blocks, so the model reads that one is left out. */
const textsIn = (content: unknown): string =>
  (listOf(content) ?? []).map((one) => textOrStandIn(fieldsOf(one) ?? {})).join("\n");

function textOrStandIn(block: Fields): string {
  if (block.type === "image") return leftOutText({ type: "image" });
  const text = filledText(block.text);
  if (text !== undefined || block.type === "text") return text ?? "";
  return leftOutText({ type: "opaque", dialect: "messages", raw: block });
}

type TextPart = Extract<Part, { type: "text" }>;

const citationsOf = ({ annotations = [] }: TextPart): readonly Fields[] =>
  annotations.flatMap((one): readonly Fields[] => {
    const citation = writeCitation(one);
    return citation !== undefined && isOwnCitation(citation) ? [citation] : [];
  });

/** True if the text has a citation that a provider would not take back. */
export const losesCitations = (part: TextPart): boolean =>
  part.annotations !== undefined && citationsOf(part).length < part.annotations.length;

/** A part as a block, or the reason why there cannot be one. `own`: the client speaks this dialect, so its file ids are valid. */
export function writePart(part: Part, own: boolean): Fields | string {
  switch (part.type) {
    case "text": {
      const block = blockBeside(part.extra);
      if (block !== undefined) return block;
      const citations = citationsOf(part);
      return {
        type: "text",
        text: part.text,
        ...(citations.length > 0 && { citations }),
        ...ownExtra(part.extra, "messages"),
      };
    }
    case "refusal":
      return { type: "text", text: part.text };
    case "image": {
      const source = writeSource(part.url, part.fileId, own);
      return source === undefined || !(own || isImage(source))
        ? "the messages dialect takes JPEG, PNG, GIF and WebP images, as bytes or by URL"
        : { type: "image", source, ...ownExtra(part.extra, "messages") };
    }
    case "file": {
      const source = writeFile(part, own);
      if (source === undefined || !(own || isFilled(source)))
        return "the messages dialect takes PDF and text files only";
      const title = filledText(part.name) === undefined ? {} : { title: part.name };
      return { type: "document", source, ...title, ...ownExtra(part.extra, "messages") };
    }
    case "audio":
      return "the messages dialect takes no audio";
    case "opaque":
      return part.dialect === "messages"
        ? (part.raw as Fields)
        : `the messages dialect has no such part as one of the ${part.dialect} dialect`;
    default:
      return part satisfies never;
  }
}

const imageTypes = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

const isImage = (source: Fields): boolean =>
  isFilled(source) && (source.type !== "base64" || imageTypes.has(String(source.media_type)));

/** True if the provider can read the content. */
function isFilled({ type, data, url }: Fields): boolean {
  if (type === "url") return /^https?:\/\//i.test(String(url));
  if (type === "text") return String(data).trim() !== "";
  return type !== "base64" || isBase64(String(data));
}

const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/]+={0,2}$/.test(text);

function writeSource(
  url: string | undefined,
  fileId: string | undefined,
  own: boolean,
): Fields | undefined {
  if (url === undefined)
    return own && fileId !== undefined ? { type: "file", file_id: fileId } : undefined;
  const bytes = readDataUrl(url);
  if (bytes === undefined) return { type: "url", url };
  return { type: "base64", media_type: bytes.type, data: bytes.data };
}

function writeFile(part: Extract<Part, { type: "file" }>, own: boolean): Fields | undefined {
  const { data, url, fileId } = part;
  if (data === undefined) return writeSource(url, fileId, own);
  const { type, data: bytes } = readDataUrl(data) ?? { type: "application/pdf", data };
  if (!own && !isBase64(bytes)) return undefined;
  if (type === "application/pdf") return { type: "base64", media_type: type, data: bytes };
  if (!type.startsWith("text/") && type !== "application/json") return undefined;
  return { type: "text", media_type: "text/plain", data: textOfBytes(bytes) };
}

const textOfBytes = (base64: string): string =>
  new TextDecoder().decode(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)));
