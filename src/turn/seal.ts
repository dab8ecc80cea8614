/**
 * What clients keep for us in the one field of reasoning that they give back
 * untouched. It is not encrypted, so that a client can write one too: whatever
 * is not exactly as we write it is no seal, and none can refer to anything.
 */

import { z } from "zod";
import { isFields, jsonOf } from "../json/json.ts";
import type { Fields } from "./turn.ts";

/** What begins a seal of ours. */
const MARK = "patchbay:1:";

export const isSeal = (text: unknown): text is string =>
  typeof text === "string" && text.startsWith(MARK);

/** The lengths that names and ids have in a request. */
const name = z.string().max(1024);
const id = z.string().min(1).max(65_536);
const texts = z.array(z.string()).readonly();
/** Taken as they are: a copy would lose a key such as `__proto__`. */
const fields = z.custom<Fields>(isFields);
const extra = z.strictObject({ dialect: z.string(), fields, hints: fields.optional() });

/** A call that the gateway answered itself. */
const exchange = z.strictObject({
  id,
  /** Which tool was called: the one that reads sections, the one that calls tools, or one by its name. */
  of: z.union([z.literal(["read", "call"]), z.strictObject({ tool: name })]),
  input: z.string(),
  /** What the model was answered. */
  text: z.string(),
  /** The sections that it opened. */
  opens: texts,
  /** The tools whose definitions the answer brought. */
  loaded: texts,
});
export type HiddenExchange = Readonly<z.infer<typeof exchange>>;

/**
 * Reasoning belongs to the model that made it: signatures and sealed text mean
 * nothing to another, which may refuse them. So a seal says whose it is.
 */
const seal = z.strictObject({
  /** `upstream/model`; empty for what is not of one model. */
  from: z.string(),
  encrypted: z.string().optional(),
  details: z.array(z.unknown()).readonly().optional(),
  extra: extra.optional(),
  content: texts.optional(),
  /** Whether the words that stand beside it were content, where they are not in it. */
  isContent: z.boolean().optional(),
  /** What came with calls and has no place in a client's call, by the call's id. */
  calls: z.record(id, extra).optional(),
  /** An item that the provider worked on itself, for which the client's dialect has no form that could be given back. */
  item: z
    .strictObject({
      dialect: z.string(),
      raw: fields.refine(({ type }) => typeof type === "string" && type !== "item_reference"),
    })
    .optional(),
  /** What was called and answered without the client; nothing else stands beside it. */
  hidden: exchange.optional(),
});
export type Sealed = Readonly<z.infer<typeof seal>>;

export const writeSeal = (sealed: Sealed): string => MARK + JSON.stringify(sealed);

/** Undefined where a text is none of ours, or is not as we write it. */
export function readSeal(text: string | undefined): Sealed | undefined {
  if (!isSeal(text)) return undefined;
  const read = seal.safeParse(jsonOf(text.slice(MARK.length)));
  return read.success ? read.data : undefined;
}
