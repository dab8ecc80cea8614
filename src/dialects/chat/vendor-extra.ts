import type { Fields } from "../../turn/turn.ts";
import { isNothing } from "../shared/plain.ts";
import { reasoningFields } from "./details.ts";

/** The fields of a message that have a place in our events. */
const known = new Set<string>([
  "role",
  "content",
  "refusal",
  "annotations",
  "images",
  "tool_calls",
  "function_call",
  ...reasoningFields,
]);

/** The fields of a message or delta that only its provider has: those of reasoning, and the others. */
export function vendorFieldsIn(
  delta: Fields,
): Readonly<Record<"message" | "reasoning", Fields | undefined>> {
  let message: Record<string, unknown> | undefined;
  let reasoning: Record<string, unknown> | undefined;
  for (const key of Object.keys(delta)) {
    const value = delta[key];
    if (known.has(key) || isNothing(value)) continue;
    if (/^(?:reasoning|thinking)/.test(key)) (reasoning ??= {})[key] = value;
    else (message ??= {})[key] = value;
  }
  return { message, reasoning };
}

/** The fields of an answer that have a place in our events, or none worth keeping. */
const answerFields = new Set("id object created model choices usage obfuscation".split(" "));
/** Those of an entry of its choices. */
const choiceFields = new Set("index delta message text logprobs finish_reason error".split(" "));

/** Fields that only a provider has, which most repeat in every frame: gives those that changed. */
export class VendorFields {
  readonly #known: ReadonlySet<string>;
  readonly #seen = new Map<string, unknown>();

  constructor(known: ReadonlySet<string>) {
    this.#known = known;
  }

  changed(raw: Fields): Fields | undefined {
    let fresh: Record<string, unknown> | undefined;
    for (const key of Object.keys(raw)) {
      const value = raw[key];
      if (this.#known.has(key) || isNothing(value)) continue;
      const text = typeof value === "object" ? comparable(value) : value;
      if (this.#seen.get(key) === text) continue;
      this.#seen.set(key, text);
      (fresh ??= {})[key] = value;
    }
    return fresh;
  }
}

/** Equal for equal values; one nested too deep for JSON counts as changed every time. */
function comparable(value: unknown): unknown {
  try {
    return JSON.stringify(value);
  } catch {
    return value;
  }
}

export const answerVendorFields = (): VendorFields => new VendorFields(answerFields);
export const choiceVendorFields = (): VendorFields => new VendorFields(choiceFields);
