import { z } from "zod";
import { isFields } from "../../json/json.ts";
import type { Fields, Part, Role } from "../../turn/turn.ts";
import { FILE_NAMED, fileName } from "../shared/content.ts";
import { fieldsOf, given, numberOf } from "../shared/loose.ts";
import type { Repair } from "../shared/shape.ts";
import { shaped, textAt } from "../shared/shape.ts";
import { responsesExtra, ownResponsesExtra, type OnReason } from "./fields.ts";

const list = z.array(z.unknown()).nullish();
/** Also in the form of Chat, with the address in an object. */
const image = z.looseObject({
  image_url: z
    .union([
      z.string().transform((url) => ({ url, detail: undefined })),
      z.looseObject({ url: z.string(), detail: z.string().nullish() }),
    ])
    .nullish(),
  file_id: z.string().nullish(),
  detail: z.string().nullish(),
});
const fileFields = {
  file_data: z.string().nullish(),
  file_url: z.string().nullish(),
  file_id: z.string().nullish(),
  filename: z.string().nullish(),
};
const file = z.looseObject(fileFields);
const nestedFile = z.looseObject({ file: z.looseObject(fileFields) });
const audio = z.looseObject({
  input_audio: z.looseObject({ data: z.string(), format: z.string() }),
});
const content = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]);

/** Reads the content of a message or of a result. */
export function readContent(raw: unknown, path: string, repair: Repair): Part[] {
  if (typeof raw === "string") return [{ type: "text", text: raw }];
  const parts = Array.isArray(raw) && raw.every(isTyped) ? raw : shaped(content, raw, path);
  if (typeof parts === "string") return [];
  const repairPart = (): void => repair(path, OTHER_PARTS);
  return parts.map((part, at) => readPart(part, `${path}[${at}]`, repairPart));
}

const isTyped = (part: unknown): part is Fields & { readonly type: string } =>
  isFields(part) && typeof part.type === "string";

/** Why content in the form of chat is not forwarded as it came. */
export const OTHER_PARTS = "the Responses API has other names for these content parts";

function readPart(raw: Fields, path: string, repair: () => void): Part {
  switch (raw.type) {
    case "input_text":
    case "output_text":
    case "text": {
      if (raw.type === "text") repair();
      const { annotations, logprobs } = raw;
      return {
        type: "text",
        text: textAt(raw.text, `${path}.text`),
        annotations: listAt(annotations, `${path}.annotations`),
        logprobs: listAt(logprobs, `${path}.logprobs`),
        extra: responsesExtra(raw, ["type", "text", "annotations", "logprobs"]),
      };
    }
    case "refusal":
      return { type: "refusal", text: textAt(raw.refusal, `${path}.refusal`) };
    case "input_image":
    case "image_url": {
      if (raw.type === "image_url" || isFields(raw.image_url)) repair();
      const { image_url: link, file_id: fileId, detail } = shaped(image, raw, path);
      return {
        type: "image",
        ...given({ url: link?.url, fileId, detail: detail ?? link?.detail }),
        extra: responsesExtra(raw, ["type", "image_url", "file_id", "detail"]),
      };
    }
    case "input_file":
      return readFile(shaped(file, raw, path), raw);
    case "file": {
      repair();
      const { file: inner } = shaped(nestedFile, raw, path);
      return readFile(inner, inner);
    }
    case "input_audio": {
      const { data, format } = shaped(audio, raw, path).input_audio;
      return { type: "audio", data, format, extra: responsesExtra(raw, ["type", "input_audio"]) };
    }
    default:
      return { type: "opaque", dialect: "responses", raw };
  }
}

const listAt = (value: unknown, path: string): readonly unknown[] | undefined =>
  (value === undefined ? undefined : shaped(list, value, path)) ?? undefined;

function readFile(read: z.infer<typeof file>, raw: Fields): Part {
  const { file_data: data, file_url: url, file_id: fileId, filename: name } = read;
  return {
    type: "file",
    ...given({ data, url, fileId, name }),
    extra: responsesExtra(raw, ["type", "file_data", "file_url", "file_id", "filename"]),
  };
}

/** Writes content for a request, and reports parts and fields that the API has no form for. */
export function writeContent(parts: readonly Part[], role: Role, report: OnReason): Fields[] {
  return parts.map((part) => writePart(part, role, report)).filter((part) => part !== undefined);
}

function writePart(part: Part, role: Role, report: OnReason): Fields | undefined {
  switch (part.type) {
    case "text": {
      const type = role === "assistant" ? "output_text" : "input_text";
      const { annotations, logprobs } = role === "assistant" ? part : {};
      return {
        type,
        text: part.text,
        ...given({ annotations, logprobs }),
        ...ownResponsesExtra(part.extra, report),
      };
    }
    case "refusal":
      return { type: "refusal", refusal: part.text };
    case "image": {
      const { url, fileId, detail, extra } = part;
      return {
        type: "input_image",
        ...given({ image_url: url, file_id: fileId, detail }),
        ...ownResponsesExtra(extra, report),
      };
    }
    case "file": {
      const { data, url, fileId, extra } = part;
      const name = fileName(part);
      if (name !== part.name) report(FILE_NAMED, "repaired");
      return {
        type: "input_file",
        ...given({ file_data: data, file_url: url, file_id: fileId, filename: name }),
        ...ownResponsesExtra(extra, report),
      };
    }
    case "audio": {
      const { data, format, extra } = part;
      return {
        type: "input_audio",
        input_audio: { data, format },
        ...ownResponsesExtra(extra, report),
      };
    }
    case "opaque":
      if (part.dialect === "responses") return part.raw as Fields;
      report(`content that only the ${part.dialect} dialect has`);
      return undefined;
    default:
      return part satisfies never;
  }
}

/**
 * Removes fields that the API refuses from past text: the citation in an annotation that was made
 * of one, and, for clients of other dialects, annotations of types that the API does not have.
 */
export function withKnownAnnotations(
  parts: readonly Part[],
  isOwn: boolean,
  report: OnReason,
): readonly Part[] {
  return parts.map((part) => {
    if (part.type !== "text" || part.annotations === undefined) return part;
    const annotations = part.annotations.flatMap((one) => {
      const known = isOwn ? one : writeResponsesAnnotation(one);
      return known === undefined ? [] : [withoutCitation(known)];
    });
    if (annotations.length < part.annotations.length)
      report("the responses dialect has no such annotation");
    return { ...part, annotations };
  });
}

function withoutCitation(annotation: unknown): unknown {
  const fields = fieldsOf(annotation);
  if (fields?.citation === undefined) return annotation;
  const { citation: _, ...known } = fields;
  return known;
}

/** A part of an answer, with every field that readers of answers want. */
export function writeOutputPart(part: Part): Fields | undefined {
  if (part.type === "refusal") return { type: "refusal", refusal: part.text };
  if (part.type !== "text") return undefined;
  return {
    type: "output_text",
    text: part.text,
    annotations: (part.annotations ?? []).flatMap((one) => writeResponsesAnnotation(one) ?? []),
    logprobs: writeLogprobs(part.logprobs),
  };
}

const annotationTypes = new Set<unknown>([
  "url_citation",
  "file_citation",
  "container_file_citation",
  "file_path",
]);

/** The API has these annotations and no others, and its readers want every field of a citation. */
export function writeResponsesAnnotation(annotation: unknown): Fields | undefined {
  const fields = fieldsOf(annotation);
  if (fields === undefined || !annotationTypes.has(fields.type)) return undefined;
  if (fields.type !== "url_citation") return fields;
  const { url, title, start_index: start, end_index: end } = fields;
  if (typeof url !== "string") return undefined;
  return {
    ...fields,
    title: typeof title === "string" ? title : url,
    start_index: numberOf(start) ?? 0,
    end_index: numberOf(end) ?? 0,
  };
}

/** True if the annotation can be shown unchanged. */
export function isOwnAnnotation(annotation: unknown): boolean {
  const fields = fieldsOf(annotation);
  const shown = writeResponsesAnnotation(annotation);
  return (
    shown !== undefined &&
    ["title", "start_index", "end_index"].every((key) => shown[key] === fields?.[key])
  );
}

/** Chat may leave out the bytes and alternatives that Responses requires. */
export const writeLogprobs = (logprobs: readonly unknown[] | undefined): readonly unknown[] =>
  logprobs?.map((entry) => withBytes(entry, { top_logprobs: [] })) ?? [];

function withBytes(entry: unknown, blank: Fields): unknown {
  if (typeof entry !== "object" || entry === null) return entry;
  const fields = entry as Fields;
  const { top_logprobs: others } = fields;
  return {
    ...blank,
    ...fields,
    bytes: fields.bytes ?? [],
    ...(Array.isArray(others) && { top_logprobs: others.map((other) => withBytes(other, {})) }),
  };
}
