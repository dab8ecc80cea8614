/** The shapes of Messages requests, as loose as clients send them. */

import { z } from "zod";
import { jsonSchema } from "../shared/shape.ts";

const string = z.string({ error: "must be a string" });
const filled = string.min(1, { error: "must not be empty" });
const nullable = string.nullish();
const flag = z.boolean({ error: "must be true or false" }).nullish();
const fields = z.record(z.string(), z.unknown(), { error: "must be an object" });

export const bodySchema = z.object({
  messages: z.array(z.unknown(), {
    error: 'must be an array of messages such as {"role":"user","content":"Hi"}',
  }),
  stream: flag,
});

const roles = ["user", "assistant", "system"] as const;
export const messageSchema = z.looseObject(
  { role: z.enum(roles, { error: `must be one of ${roles.join(", ")}` }) },
  { error: "must be a message: an object with `role` and `content`" },
);

export const blockSchema = z.looseObject(
  { type: filled },
  { error: "must be a content block: an object with `type`" },
);

const source = z.looseObject(
  { type: filled, media_type: nullable, data: nullable, url: nullable, file_id: nullable },
  { error: "must be an object with `type`" },
);
export const blockSchemas = {
  text: z.looseObject({ text: string, citations: z.array(z.unknown()).nullish() }),
  image: z.looseObject({ source }),
  document: z.looseObject({ source, title: nullable, context: nullable }),
  tool_use: z.looseObject({ id: filled, name: filled, input: z.unknown().optional() }),
  tool_result: z.looseObject({
    tool_use_id: filled,
    content: z.unknown().optional(),
    is_error: flag,
  }),
  thinking: z.looseObject({ thinking: nullable, signature: nullable }),
  redacted_thinking: z.looseObject({ data: nullable }),
};
export type MediaSource = z.infer<typeof source>;

export const toolSchema = z.looseObject(
  { type: nullable, name: nullable },
  { error: "must be a tool: an object with `name` and `input_schema`" },
);
export const customToolSchema = z.looseObject({
  name: filled,
  description: nullable,
  input_schema: jsonSchema.nullish(),
  strict: flag,
});

const choices = ["auto", "any", "tool", "none"] as const;
export const choiceSchema = z.looseObject(
  {
    type: z.enum(choices, { error: `must be one of ${choices.join(", ")}` }),
    name: nullable,
    disable_parallel_tool_use: flag,
  },
  { error: 'must be an object such as {"type":"auto"}' },
);

export const formatSchema = z.looseObject(
  { type: filled },
  { error: 'must be an object such as {"type":"json_schema","schema":{…}}' },
);
export const jsonFormatSchema = z.looseObject({ schema: jsonSchema });
export const groupSchema = fields.nullish();
