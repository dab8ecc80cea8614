import { z } from "zod";
import type { Extra, Fields, Format } from "../../turn/turn.ts";
import { jsonSchema, shaped } from "../shared/shape.ts";
import { fieldsOf } from "../shared/loose.ts";

/** Reads `response_format`, and writes it as the profile takes it. */
const PATH = "response_format";

/** Null is "not set". */
export function readFormat(raw: unknown): Format | undefined {
  if (raw === undefined || raw === null) return undefined;
  const format = shaped(formatSchema, raw, PATH);
  switch (format.type) {
    case "text":
      return { type: "text" };
    case "json_object": {
      // Some servers were asked for a schema so before there was a format for it.
      const schema = fieldsOf(format.schema);
      return schema === undefined ? { type: "json" } : { type: "schema", name: "answer", schema };
    }
    case "json_schema": {
      const read = shaped(jsonSchemaSchema, format.json_schema, `${PATH}.json_schema`);
      const { name, description, schema = {}, strict } = read;
      return { type: "schema", name, schema, strict, description };
    }
    default:
      return { type: "opaque", dialect: "chat", raw };
  }
}

/** Undefined if this dialect has no form for it. */
export function writeFormat(format: Format): unknown {
  switch (format.type) {
    case "text":
      return { type: "text" };
    case "json":
      return { type: "json_object" };
    case "schema": {
      const { name, schema, strict, description } = format;
      return { type: "json_schema", json_schema: { name, description, schema, strict } };
    }
    case "opaque":
      return format.dialect === "chat" ? format.raw : undefined;
    default:
      return format satisfies never;
  }
}

const string = z.string({ error: "must be a string" });
const filled = string.min(1, { error: "must not be empty" });
/** For fields of every message: null is left to the reader, since transforms are slow. */
const nullable = string.nullish();
const optional = nullable.transform((value) => value ?? undefined);
const flag = z
  .boolean({ error: "must be true or false" })
  .nullish()
  .transform((value) => value ?? undefined);
const fields = z.record(z.string(), z.unknown(), { error: "must be an object" });
const list = z.array(z.unknown(), { error: "must be an array" });
const schemaOf = jsonSchema.nullish().transform((value) => value ?? undefined);

export const fieldsSchema = fields;

/** The body, as far as every chat request has it. */
export const bodySchema = z.object({
  messages: z
    .array(z.unknown(), {
      error: 'must be an array of messages such as {"role":"user","content":"Hi"}',
    })
    .min(1, { error: "must hold at least one message" }),
  stream: flag,
  stream_options: fields.nullish(),
  logprobs: flag,
});

const roles = ["system", "developer", "user", "assistant", "tool", "function"] as const;
export const messageSchema = z.looseObject(
  {
    role: z.enum(roles, { error: `must be one of ${roles.join(", ")}` }),
    name: nullable,
  },
  { error: "must be a message: an object with `role` and `content`" },
);

export const assistantSchema = z.looseObject({
  refusal: nullable,
  reasoning_content: nullable,
  reasoning_details: list.nullish(),
  tool_calls: list.nullish(),
});

export const callSchema = z.looseObject(
  {
    id: filled,
    type: nullable,
    function: z
      .looseObject(
        { name: filled, arguments: nullable },
        { error: "must be an object with `name` and `arguments`" },
      )
      .nullish(),
    custom: z
      .looseObject(
        { name: filled, input: nullable },
        { error: "must be an object with `name` and `input`" },
      )
      .nullish(),
  },
  { error: "must be a tool call: an object with `id`, `type` and `function`" },
);

export const legacyCallSchema = z.looseObject({ name: filled, arguments: nullable });

export const partSchema = z.looseObject(
  { type: filled },
  { error: "must be a content part: an object with `type`" },
);
export const partSchemas = {
  text: z.looseObject({ text: string }),
  refusal: z.looseObject({ refusal: string }),
  image_url: z.looseObject({
    image_url: z.union(
      [
        string.transform((url) => ({ url, detail: undefined })),
        z.looseObject({ url: string, detail: optional }),
      ],
      { error: "must be an object with `url`" },
    ),
  }),
  input_image: z.looseObject({ image_url: optional, file_id: optional, detail: optional }),
  input_file: z.looseObject({
    file_data: optional,
    file_url: optional,
    file_id: optional,
    filename: optional,
  }),
  input_audio: z.looseObject({
    input_audio: z.looseObject(
      { data: string, format: string },
      { error: "must be an object with `data` and `format`" },
    ),
  }),
  file: z.looseObject({
    file: z.looseObject(
      { file_data: optional, file_id: optional, filename: optional },
      { error: "must be an object with `file_data` or `file_id`" },
    ),
  }),
};

export const namedSchema = z.looseObject(
  { name: filled },
  { error: "must be an object with `name`" },
);
export const allowedSchema = z.looseObject(
  {
    mode: z.enum(["auto", "required"], { error: "must be `auto` or `required`" }),
    tools: z.array(fields, { error: "must be an array of tools to choose from" }),
  },
  { error: "must be an object with `mode` and `tools`" },
);

const formatSchema = z.looseObject(
  { type: filled },
  { error: 'must be an object such as {"type":"json_object"}' },
);
const jsonSchemaSchema = z.looseObject(
  { name: filled, description: optional, schema: schemaOf, strict: flag },
  { error: "must be an object with `name` and `schema`" },
);

/** What we do not know, kept for the dialect it came in; null is how clients say "not set". */
export function extraOf(rest: Fields): { readonly extra?: Extra } {
  const set = Object.keys(rest).filter((key) => rest[key] !== null && rest[key] !== undefined);
  if (set.length === 0) return nothing;
  const fields = Object.fromEntries(set.map((key) => [key, rest[key]]));
  return { extra: { dialect: "chat", fields } };
}
const nothing = {};

/** The fields to give back to chat, if they came from it. */
export const ownExtra = (extra: Extra | undefined): Fields =>
  extra?.dialect === "chat" ? extra.fields : {};

/** Chat has no namespaces; a client that declared some all the same gets that of a call's tool. */
export const inNamespace = (namespace: string | undefined): { readonly namespace?: string } =>
  namespace === undefined ? {} : { namespace };
