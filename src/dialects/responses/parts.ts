import { z } from "zod";
import type { Extra, Fields, Part, Role, Status } from "../../turn/turn.ts";
import { shaped } from "../shape.ts";

/** Hears what of a request cannot be said in this dialect. */
export type Report = (reason: string) => void;

/** For answers: what they hold has been read in this dialect or made for it. */
export const silently: Report = () => {};

const text = z.looseObject({
  text: z.string(),
  annotations: z.array(z.unknown()).nullish(),
  logprobs: z.array(z.unknown()).nullish(),
});
const refusal = z.looseObject({ refusal: z.string() });
/** Also as Chat has it, with the address in an object of its own. */
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
export function readContent(raw: unknown, path: string): Part[] {
  const read = shaped(content, raw, path);
  if (typeof read === "string") return [{ type: "text", text: read }];
  return read.map((part, at) => readPart(part, `${path}[${at}]`));
}

function readPart(raw: Fields, path: string): Part {
  switch (raw.type) {
    case "input_text":
    case "output_text":
    case "text": {
      const { text: said, annotations, logprobs } = shaped(text, raw, path);
      return {
        type: "text",
        text: said,
        ...some({ annotations, logprobs }),
        ...rest(raw, ["type", "text", "annotations", "logprobs"]),
      };
    }
    case "refusal":
      return { type: "refusal", text: shaped(refusal, raw, path).refusal };
    case "input_image":
    case "image_url": {
      const { image_url: link, file_id: fileId, detail } = shaped(image, raw, path);
      return {
        type: "image",
        ...some({ url: link?.url, fileId, detail: detail ?? link?.detail }),
        ...rest(raw, ["type", "image_url", "file_id", "detail"]),
      };
    }
    case "input_file":
      return readFile(shaped(file, raw, path), raw);
    case "file": {
      const { file: inner } = shaped(nestedFile, raw, path);
      return readFile(inner, inner);
    }
    case "input_audio": {
      const { data, format } = shaped(audio, raw, path).input_audio;
      return { type: "audio", data, format, ...rest(raw, ["type", "input_audio"]) };
    }
    default:
      return { type: "opaque", dialect: "responses", raw };
  }
}

function readFile(read: z.infer<typeof file>, raw: Fields): Part {
  const { file_data: data, file_url: url, file_id: fileId, filename: name } = read;
  return {
    type: "file",
    ...some({ data, url, fileId, name }),
    ...rest(raw, ["type", "file_data", "file_url", "file_id", "filename"]),
  };
}

/** Writes content for a request; what has no place there is reported. */
export function writeContent(parts: readonly Part[], role: Role, report: Report): Fields[] {
  return parts.map((part) => writePart(part, role, report)).filter((part) => part !== undefined);
}

function writePart(part: Part, role: Role, report: Report): Fields | undefined {
  switch (part.type) {
    case "text": {
      const type = role === "assistant" ? "output_text" : "input_text";
      const { annotations, logprobs } = role === "assistant" ? part : {};
      return {
        type,
        text: part.text,
        ...some({ annotations, logprobs }),
        ...own(part.extra, report),
      };
    }
    case "refusal":
      return { type: "refusal", refusal: part.text };
    case "image": {
      const { url, fileId, detail, extra } = part;
      return {
        type: "input_image",
        ...some({ image_url: url, file_id: fileId, detail }),
        ...own(extra, report),
      };
    }
    case "file": {
      const { data, url, fileId, name, extra } = part;
      return {
        type: "input_file",
        ...some({ file_data: data, file_url: url, file_id: fileId, filename: name }),
        ...own(extra, report),
      };
    }
    case "audio": {
      const { data, format, extra } = part;
      return { type: "input_audio", input_audio: { data, format }, ...own(extra, report) };
    }
    case "opaque":
      if (part.dialect === "responses") return part.raw as Fields;
      report(`content that only the ${part.dialect} dialect has`);
      return undefined;
    default:
      return part satisfies never;
  }
}

/** A part of an answer, with every field that readers of answers want. */
export function writeOutputPart(part: Part): Fields | undefined {
  if (part.type === "refusal") return { type: "refusal", refusal: part.text };
  if (part.type !== "text") return undefined;
  return {
    type: "output_text",
    text: part.text,
    annotations: part.annotations ?? [],
    logprobs: writeLogprobs(part.logprobs),
  };
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

/** The fields that are set. `null` is how clients say "not set". */
export function some<T extends Record<string, unknown>>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], null | undefined> } {
  const set: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields))
    if (value !== undefined && value !== null) set[key] = value;
  return set as { [K in keyof T]?: Exclude<T[K], null | undefined> };
}

/** What a part or item holds beside the fields we know. */
export function rest(raw: Fields, known: readonly string[]): { extra?: Extra } {
  let fields: Record<string, unknown> | undefined;
  for (const key of Object.keys(raw)) {
    if (known.includes(key) || raw[key] === undefined) continue;
    fields ??= {};
    fields[key] = raw[key];
  }
  return fields === undefined ? {} : { extra: { dialect: "responses", fields } };
}

/** What was kept for this dialect; what was kept for another is reported. */
export function own(extra: Extra | undefined, report: Report): Fields {
  if (extra === undefined) return {};
  if (extra.dialect === "responses") return extra.fields;
  for (const key of Object.keys(extra.fields))
    report(`\`${key}\` is a field of the ${extra.dialect} dialect`);
  return {};
}

const statuses = new Set<unknown>(["in_progress", "completed", "incomplete"]);

export const readStatus = (raw: Fields): { status?: Status } =>
  statuses.has(raw.status) ? { status: raw.status as Status } : {};

/** A status we have no word for, such as `failed`, stays among the rest. */
export const statusKey = (raw: Fields): string[] =>
  raw.status === null || statuses.has(raw.status) ? ["status"] : [];
