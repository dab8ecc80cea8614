/** The events of an upstream that speaks no HTTP, as a bundle holds them. */

import { z } from "zod";

/** Answers, calls and parts are numbered from 0; no model gives more of them. */
const nth = z.int().min(0).max(9_999);
const choice = nth;
const text = z.string();
const count = z.number().min(0);
const fields = z.record(text, z.unknown());
const extra = z.strictObject({ dialect: text, fields, hints: fields.optional() }).optional();
const id = text.optional();
const complete = z.boolean().optional();
const dialect = text;

const usage = z.strictObject({
  input: count,
  output: count,
  total: count,
  cached: count.optional(),
  cacheWrite: count.optional(),
  reasoning: count.optional(),
  extra,
});

const event = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.strictObject({ type: z.literal(type), ...shape });
const item = { choice, item: nth, dialect, raw: fields };

/** Everything that a `TurnEvent` may be, but for frames: only HTTP has those. */
export const bundleEvent = z.discriminatedUnion("type", [
  event("turn-start", {
    dialect: id,
    id,
    model: id,
    created: z.number().optional(),
    extra: fields.optional(),
  }),
  event("text-start", { choice, id, phase: id }),
  event("text-break", { choice }),
  event("text-delta", { choice, text, logprobs: z.array(z.unknown()).optional() }),
  event("text-note", { choice, annotation: z.unknown() }),
  event("text-end", { choice, complete, extra }),
  event("refusal-delta", { choice, text }),
  event("reasoning-start", { choice, id }),
  event("reasoning-delta", { choice, text, of: z.enum(["content", "summary"]), part: nth }),
  event("reasoning-end", {
    choice,
    encrypted: id,
    details: z.array(z.unknown()).optional(),
    complete,
    extra,
  }),
  event("vendor-extra", {
    choice,
    of: z.enum(["message", "reasoning", "choice", "answer"]),
    extra: extra.unwrap(),
  }),
  event("call-start", {
    choice,
    call: nth,
    id: text,
    kind: text,
    name: text,
    namespace: id,
    itemId: id,
    extra,
  }),
  event("call-delta", { choice, call: nth, text }),
  event("call-end", { choice, call: nth, complete: z.boolean() }),
  event("item-start", item),
  event("item-note", item),
  event("item-end", item),
  event("usage", { usage }),
  event("turn-end", {
    choice,
    stop: z.enum(["end", "calls", "length", "filter", "pause"]),
    extra,
  }),
  /** Faults are written by their code and words. */
  event("turn-fail", { fault: z.strictObject({ code: text, message: text }) }),
]);

export type BundleEvent = z.output<typeof bundleEvent>;
