import { z } from "zod";
import { hiddenIn, sealHidden } from "../../tools/plan/reasoning.ts";

/** A call that the gateway answered itself. */
export type HiddenExchange = {
  readonly id: string;
  /** Which tool was called: the one that reads sections, the one that calls tools, or one by its name. */
  readonly of: "read" | "call" | { readonly tool: string };
  readonly input: string;
  /** What the model was answered. */
  readonly text: string;
  /** The sections that it opened. */
  readonly opens: readonly string[];
  /** The tools whose definitions the answer brought. */
  readonly loaded: readonly string[];
};

const texts = z.array(z.string());
const exchangeSchema = z.object({
  id: z.string().min(1),
  of: z.union([z.literal("read"), z.literal("call"), z.object({ tool: z.string() })]),
  input: z.string(),
  text: z.string(),
  opens: texts,
  loaded: texts,
});

/** Writes an exchange into the seal of a reasoning item, which clients give back untouched. */
export const sealExchange = (exchange: HiddenExchange): string => sealHidden(exchange);

/** Reads it again. What a client has changed is none. */
export function exchangeIn(encrypted: string | undefined): HiddenExchange | undefined {
  const hidden = hiddenIn(encrypted);
  if (hidden === undefined) return undefined;
  const read = exchangeSchema.safeParse(hidden);
  return read.success ? read.data : undefined;
}
