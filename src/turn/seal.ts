/**
 * Seals: data that clients keep for the gateway in the one field of reasoning that they give back
 * unchanged. A seal is not encrypted, so a client can write one too: text in any other form is no
 * seal, and a seal cannot refer to stored data.
 */

import { z } from "zod";
import { isFields, isWithin, jsonOf } from "../json/json.ts";
import type { Fields } from "./turn.ts";

/** The beginning of every seal. */
const MARK = "patchbay:1:";

/** Far more levels than reasoning has. A deeper value could not be written as JSON again. */
const DEEPEST = 512;

export const isSeal = (text: unknown): text is string =>
  typeof text === "string" && text.startsWith(MARK);

/** Names and ids have the same limits as in a request. */
const name = z.string().max(1024);
const id = z.string().min(1).max(65_536);
const texts = z.array(z.string()).readonly();
/** Not copied: a copy would lose a key such as `__proto__`. */
const fields = z.custom<Fields>(isFields);
const extra = z.strictObject({ dialect: z.string(), fields, hints: fields.optional() });

/** A call that the gateway itself answered. */
const exchange = z.strictObject({
  id,
  /** The called tool: the reader of sections, the caller of tools, or a tool by its name. */
  of: z.union([z.literal(["read", "call"]), z.strictObject({ tool: name })]),
  input: z.string(),
  /** The answer to the model. */
  text: z.string(),
  /** The sections that it opened. */
  opens: texts,
  /** The tools whose definitions the answer brought. */
  loaded: texts,
});
export type HiddenExchange = Readonly<z.infer<typeof exchange>>;

/**
 * Reasoning belongs to the model that made it: another model cannot read its signatures and sealed
 * text, and may refuse them. So a seal names its origin.
 */
const seal = z.strictObject({
  /** `upstream/model`; empty if no single model is the origin. */
  from: z.string(),
  encrypted: z.string().optional(),
  details: z.array(z.unknown()).readonly().optional(),
  extra: extra.optional(),
  content: texts.optional(),
  /** True if the readable text beside the seal was content; undefined if the seal holds the content. */
  isContent: z.boolean().optional(),
  /** Unknown fields of calls, by the call's id, for clients whose calls have no room for them. */
  calls: z.record(id, extra).optional(),
  /** An item of the provider's own work, for clients whose dialect cannot give it back. */
  item: z
    .strictObject({
      dialect: z.string(),
      // Items of some dialects have no type: their one field tells what they are.
      raw: fields.refine(
        ({ type }) => (type === undefined || typeof type === "string") && type !== "item_reference",
      ),
    })
    .optional(),
  /** A call that was answered without the client. Such a seal has no other fields. */
  hidden: exchange.optional(),
});
export type Sealed = Readonly<z.infer<typeof seal>>;

export const writeSeal = (sealed: Sealed): string => MARK + JSON.stringify(sealed);

/** Undefined if the text is not exactly in the form that `writeSeal` gives. */
export function readSeal(text: string | undefined): Sealed | undefined {
  if (!isSeal(text)) return undefined;
  const value = jsonOf(text.slice(MARK.length));
  if (!isWithin(value, DEEPEST)) return undefined;
  const read = seal.safeParse(value);
  return read.success ? read.data : undefined;
}
