import type { z } from "zod";
import type { Fields, Part } from "../../turn/turn.ts";
import { fileName } from "../shared/content.ts";
import { fieldsOf } from "../shared/loose.ts";
import type { Repair } from "../shared/repairs.ts";
import { invalid, shaped } from "../shared/shape.ts";
import { extraOf, ownExtra, partSchema, partSchemas } from "./schema.ts";

/** Reads the content of a message: a string, or parts. */
export function readContent(content: unknown, path: string, repair: Repair): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  const repairPart = (): void => repair(path, "chat has other words for its parts");
  if (Array.isArray(content))
    return content.map((part: unknown, at) => readPart(part, `${path}[${at}]`, repairPart));
  throw invalid(path, "must be a string or an array of content parts");
}

/** Reads a part, also as the Responses API has it: clients mix them up. */
function readPart(value: unknown, path: string, repair: () => void): Part {
  const { type } = shaped(partSchema, value, path);
  const own = <T>(schema: z.ZodType<T>): T => shaped(schema, value, path);
  switch (type) {
    case "text":
    case "input_text":
    case "output_text": {
      if (type !== "text") repair();
      const { type: _, text, ...rest } = own(partSchemas.text);
      return { type: "text", text, ...extraOf(rest) };
    }
    case "refusal":
      return { type: "refusal", text: own(partSchemas.refusal).refusal };
    case "image_url": {
      if (typeof fieldsOf(value)?.image_url === "string") repair();
      const { type: _, image_url, ...rest } = own(partSchemas.image_url);
      const { url, detail, ...inner } = image_url;
      return { type: "image", url, detail, ...extraOf(nested(rest, "image_url", inner)) };
    }
    case "input_image": {
      repair();
      const {
        type: _,
        image_url: url,
        file_id: fileId,
        detail,
        ...rest
      } = own(partSchemas.input_image);
      return { type: "image", url, fileId, detail, ...extraOf(rest) };
    }
    case "input_audio": {
      const { type: _, input_audio, ...rest } = own(partSchemas.input_audio);
      const { data, format, ...inner } = input_audio;
      return { type: "audio", data, format, ...extraOf(nested(rest, "input_audio", inner)) };
    }
    case "file": {
      const { type: _, file, ...rest } = own(partSchemas.file);
      const { file_data: data, file_id: fileId, filename: name, ...inner } = file;
      return { type: "file", data, fileId, name, ...extraOf(nested(rest, "file", inner)) };
    }
    case "input_file": {
      repair();
      const { type: _, ...fields } = own(partSchemas.input_file);
      const { file_data: data, file_url: url, file_id: fileId, filename: name, ...rest } = fields;
      return { type: "file", data, url, fileId, name, ...extraOf(rest) };
    }
    default:
      return { type: "opaque", dialect: "chat", raw: value };
  }
}

const nested = (rest: Fields, key: string, inner: Fields): Fields =>
  Object.keys(inner).length === 0 ? rest : { ...rest, [key]: inner };

/** A part in chat's words, or why chat has none. */
export function writePart(part: Part): Fields | string {
  switch (part.type) {
    case "text":
      return { ...ownExtra(part.extra), type: "text", text: part.text };
    case "refusal":
      return { type: "refusal", refusal: part.text };
    case "image": {
      const { url, detail } = part;
      if (url === undefined) return "chat has no images by file id";
      return merged(part, "image_url", { url, detail });
    }
    case "audio": {
      const { data, format } = part;
      return merged(part, "input_audio", { data, format });
    }
    case "file": {
      const { data, fileId } = part;
      if (data === undefined && fileId === undefined) return "chat has no files by URL";
      return merged(part, "file", { file_data: data, file_id: fileId, filename: fileName(part) });
    }
    case "opaque":
      return part.dialect === "chat"
        ? (part.raw as Fields)
        : `chat has no such part as one of the ${part.dialect} dialect`;
    default:
      return part satisfies never;
  }
}

function merged(
  part: Exclude<Part, { type: "refusal" | "opaque" }>,
  type: string,
  fields: Fields,
): Fields {
  const own = ownExtra(part.extra);
  return { ...own, type, [type]: { ...fieldsOf(own[type]), ...fields } };
}
