import type { Fields } from "../../turn/turn.ts";
import { thoughtFields } from "./details.ts";

/** The fields of a message that have a place in our events. */
const known = new Set<string>([
  "role",
  "content",
  "refusal",
  "annotations",
  "images",
  "tool_calls",
  "function_call",
  ...thoughtFields,
]);

/** What else a message or a piece of it holds: that of its reasoning, and the rest. */
export function asidesIn(
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

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  (typeof value === "object" && Object.keys(value).length === 0);

/** The fields of an answer that have a place in our events, or none worth keeping. */
const answerFields = new Set("id object created model choices usage obfuscation".split(" "));
/** Those of an entry of its choices. */
const choiceFields = new Set("index delta message text logprobs finish_reason error".split(" "));

/** What an upstream says beside what it was asked for, frame after frame, mostly the same. */
export class Beside {
  readonly #known: ReadonlySet<string>;
  readonly #said = new Map<string, unknown>();

  constructor(known: ReadonlySet<string>) {
    this.#known = known;
  }

  /** What it has not said before. */
  news(raw: Fields): Fields | undefined {
    let news: Record<string, unknown> | undefined;
    for (const key of Object.keys(raw)) {
      const value = raw[key];
      if (this.#known.has(key) || isNothing(value)) continue;
      const said = typeof value === "object" ? textOf(value) : value;
      if (this.#said.get(key) === said) continue;
      this.#said.set(key, said);
      (news ??= {})[key] = value;
    }
    return news;
  }
}

/** To know it again by; what is nested too deep to be written is always news. */
function textOf(value: unknown): unknown {
  try {
    return JSON.stringify(value);
  } catch {
    return value;
  }
}

export const besideAnswer = (): Beside => new Beside(answerFields);
export const besideChoice = (): Beside => new Beside(choiceFields);
