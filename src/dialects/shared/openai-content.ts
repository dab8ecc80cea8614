/** Content parts and formats, as the APIs of OpenAI write them. Clients mix the two forms up, so both are read everywhere. */

import { isFields } from "../../json/json.ts";
import type { Fields, Format, Part, Role } from "../../turn/turn.ts";
import {
  FILE_NAMED,
  fileName,
  leftOutText,
  type OnReason,
  ownExtra,
  reportForeign,
} from "./content.ts";
import { fieldsOf, given } from "./loose.ts";
import { declarationOf, type OpenAiForm, otherForm, unknownFields } from "./openai-form.ts";
import {
  fieldsAt,
  filledTextAt,
  invalid,
  optionalFlagAt,
  optionalListAt,
  optionalTextAt,
  schemaAt,
  textAt,
  type Repair,
} from "./shape.ts";

/** Reads the content of a message or a result: a string, or parts. */
export function readContent(
  content: unknown,
  path: string,
  form: OpenAiForm,
  repair: Repair,
): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  const repairPart = (): void => repair(path, otherForm(form, "content parts"));
  if (Array.isArray(content))
    return content.map((part: unknown, at) => readPart(part, `${path}[${at}]`, form, repairPart));
  throw invalid(path, "must be a string or an array of content parts");
}

const textKeys = ["type", "text"];
const notedTextKeys = [...textKeys, "annotations", "logprobs"];
const imageKeys = ["type", "image_url", "file_id", "detail"];
const fileKeys = ["file_data", "file_url", "file_id", "filename"];
const flatFileKeys = ["type", ...fileKeys];

function readPart(value: unknown, path: string, form: OpenAiForm, repair: () => void): Part {
  const part = fieldsAt(value, path, "a content part: an object with `type`");
  const type = filledTextAt(part.type, `${path}.type`);
  const { nested } = form;
  switch (type) {
    case "text":
    case "input_text":
    case "output_text": {
      if ((type === "text") !== nested) repair();
      const text = textAt(part.text, `${path}.text`);
      if (nested) return { type: "text", text, ...unknownFields(form, part, textKeys) };
      const { annotations, logprobs } = part;
      return {
        type: "text",
        text,
        ...(annotations != null && {
          annotations: optionalListAt(annotations, `${path}.annotations`),
        }),
        ...(logprobs != null && { logprobs: optionalListAt(logprobs, `${path}.logprobs`) }),
        ...unknownFields(form, part, notedTextKeys),
      };
    }
    case "refusal":
      return { type: "refusal", text: textAt(part.refusal, `${path}.refusal`) };
    case "image_url":
    case "input_image": {
      const where = `${path}.image_url`;
      const { image_url: link } = part;
      const inner = isFields(link) ? link : undefined;
      if (type === "image_url" && inner === undefined && typeof link !== "string")
        throw invalid(where, "must be an object with `url`");
      if ((type === "image_url") !== nested || (inner !== undefined) !== nested) repair();
      return {
        type: "image",
        url: inner === undefined ? optionalTextAt(link, where) : textAt(inner.url, `${where}.url`),
        fileId: optionalTextAt(part.file_id, `${path}.file_id`),
        detail: optionalTextAt(part.detail ?? inner?.detail, `${path}.detail`),
        ...unknownFields(form, part, imageKeys, nested ? "image_url" : undefined, [
          "url",
          "detail",
        ]),
      };
    }
    case "input_audio": {
      const where = `${path}.input_audio`;
      const audio = fieldsAt(part.input_audio, where, "an object with `data` and `format`");
      return {
        type: "audio",
        data: textAt(audio.data, `${where}.data`),
        format: textAt(audio.format, `${where}.format`),
        ...unknownFields(form, part, ["type", "input_audio"], "input_audio", ["data", "format"]),
      };
    }
    case "file":
    case "input_file": {
      const isNested = type === "file";
      if (isNested !== nested) repair();
      const where = isNested ? `${path}.file` : path;
      const file = isNested
        ? fieldsAt(part.file, where, "an object with `file_data` or `file_id`")
        : part;
      return {
        type: "file",
        url: optionalTextAt(file.file_url, `${where}.file_url`),
        data: optionalTextAt(file.file_data, `${where}.file_data`),
        fileId: optionalTextAt(file.file_id, `${where}.file_id`),
        name: optionalTextAt(file.filename, `${where}.filename`),
        ...(isNested && nested
          ? unknownFields(form, part, ["type", "file"], "file", fileKeys)
          : unknownFields(form, file, flatFileKeys)),
      };
    }
    default:
      return { type: "opaque", dialect: form.dialect, raw: value };
  }
}

/** Writes parts, and a text in place of each that the API has no form for: it may be the only content. */
export function writeParts(
  parts: readonly Part[],
  role: Role,
  form: OpenAiForm,
  report: OnReason,
): Fields[] {
  return parts.map((part) => {
    if (part.type === "text" && part.extra === undefined && part.annotations === undefined)
      return writeText(part, role, form);
    if (part.type !== "refusal" && part.type !== "opaque")
      reportForeign(part.extra, form.dialect, report);
    if (part.type === "text" && form.nested && (part.annotations?.length ?? 0) > 0)
      report(`${form.api} has no field for annotations in requests`);
    const written = writePart(part, role, form);
    if (typeof written === "string") {
      report(written);
      return writeText({ type: "text", text: leftOutText(part) }, role, form);
    }
    if (part.type === "file" && fileName(part) !== part.name) report(FILE_NAMED, "repaired");
    return written;
  });
}

/** A part as an API writes it, or the reason why it cannot. */
function writePart(part: Part, role: Role, form: OpenAiForm): Fields | string {
  switch (part.type) {
    case "text":
      return writeText(part, role, form);
    case "refusal":
      return { type: "refusal", refusal: part.text };
    case "image": {
      const { url, fileId, detail } = part;
      if (!form.nested)
        return flat(part, "input_image", { image_url: url, file_id: fileId, detail }, form);
      if (url === undefined) return "chat has no images by file id";
      return nestedIn("image_url", part, { url, detail }, form);
    }
    case "audio": {
      const { data, format } = part;
      return nestedIn("input_audio", part, { data, format }, form);
    }
    case "file": {
      const { data, url, fileId } = part;
      const fields = { file_data: data, file_id: fileId, filename: fileName(part) };
      if (!form.nested) return flat(part, "input_file", { ...fields, file_url: url }, form);
      if (data === undefined && fileId === undefined) return "chat has no files by URL";
      return nestedIn("file", part, fields, form);
    }
    case "opaque":
      return part.dialect === form.dialect
        ? (part.raw as Fields)
        : `${form.api} has no such part as one of the ${part.dialect} dialect`;
    default:
      return part satisfies never;
  }
}

type Kind<Type extends Part["type"]> = Extract<Part, { readonly type: Type }>;

function writeText(part: Kind<"text">, role: Role, { dialect, nested }: OpenAiForm): Fields {
  const { text, annotations, logprobs } = part;
  const own = ownExtra(part.extra, dialect);
  if (nested) return { ...own, type: "text", text };
  return role === "assistant"
    ? { type: "output_text", text, ...given({ annotations, logprobs }), ...own }
    : { type: "input_text", text, ...own };
}

type Media = Kind<"image" | "audio" | "file">;

const flat = ({ extra }: Media, type: string, fields: Fields, { dialect }: OpenAiForm): Fields => ({
  type,
  ...given(fields),
  ...ownExtra(extra, dialect),
});

function nestedIn(type: string, { extra }: Media, fields: Fields, { dialect }: OpenAiForm): Fields {
  const own = ownExtra(extra, dialect);
  return { ...own, type, [type]: { ...fieldsOf(own[type]), ...fields } };
}

/** Reads the format of an answer. */
export function readFormat(
  raw: unknown,
  path: string,
  form: OpenAiForm,
  repair: Repair,
): Format | undefined {
  if (raw === undefined || raw === null) return undefined;
  const format = fieldsAt(raw, path, 'an object such as {"type":"json_object"}');
  switch (filledTextAt(format.type, `${path}.type`)) {
    case "text":
      return { type: "text" };
    case "json_object": {
      // Some servers took a schema here before there was a format for it.
      const schema = fieldsOf(format.schema);
      return schema === undefined ? { type: "json" } : { type: "schema", name: "answer", schema };
    }
    case "json_schema": {
      const { fields, where, outer } = declarationOf(format, "json_schema", path, form);
      if ((outer !== undefined) !== form.nested) repair(path, otherForm(form, "a format"));
      const read = fieldsAt(fields, where, "an object with `name` and `schema`");
      const isLeftOut = form.nested && read.schema == null;
      return {
        type: "schema",
        name: filledTextAt(read.name, `${where}.name`),
        schema: isLeftOut ? {} : schemaAt(read.schema, `${where}.schema`),
        strict: optionalFlagAt(read.strict, `${where}.strict`),
        description: optionalTextAt(read.description, `${where}.description`),
      };
    }
    default:
      return { type: "opaque", dialect: form.dialect, raw };
  }
}

/** Undefined if the API has no form for it. */
export function writeFormat(format: Format, { dialect, nested }: OpenAiForm): Fields | undefined {
  switch (format.type) {
    case "text":
      return { type: "text" };
    case "json":
      return { type: "json_object" };
    case "schema": {
      const { name, schema, strict, description } = format;
      const fields = { name, schema, ...given({ strict, description }) };
      return { type: "json_schema", ...(nested ? { json_schema: fields } : fields) };
    }
    case "opaque":
      return format.dialect === dialect ? (format.raw as Fields) : undefined;
    default:
      return format satisfies never;
  }
}
