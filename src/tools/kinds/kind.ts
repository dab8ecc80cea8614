import { isFields, jsonOf } from "../../json/json.ts";
import type { Call, Callable, Fields, JsonSchema, Part, Result } from "../../turn/turn.ts";

/** A function declared in place of a tool of a kind the upstream does not have. */
type StandInDeclaration = {
  readonly description: string;
  readonly schema: JsonSchema | undefined;
  /** What the tool promised and the function cannot; each a phrase. */
  readonly losses: readonly string[];
};

/** Turns arguments, as they stream in, into the input the client expects. */
export type Decoder = {
  /** Takes a piece of the arguments; gives what is now known of the input. */
  each(text: string): string;
  /** The call is over; gives what is left. `complete: false`: it was cut off. */
  end(complete: boolean): string;
  /** Whether there was more to it than the input can hold. */
  hasMore?(): boolean;
};

/** How a call's input changes form between the two sides. */
export type Form = {
  /** A past call's input as it is sent to the upstream. */
  encode(input: string): string;
  /** For a new call, on its way back. */
  decoder(): Decoder;
};

/**
 * How a kind of tool is declared as a function, and how calls of the function
 * become calls of the kind again. Both are in one object, so that they cannot
 * drift apart.
 */
export type StandIn = Form & {
  declare(tool: Callable): StandInDeclaration;
  /** A past call's result as that of a function; none: as it is. `brought`: the names of tools it holds. */
  answer?(result: Result, brought: readonly string[]): readonly Part[];
  /** The kind the client is given, where it cannot be the declared one. */
  readonly restoredAs?: string | undefined;
};

/** How one kind of tool is handled. */
export type Kind = {
  readonly kind: string;
  /** Whether its declaration means something in one dialect only: upstreams of others are given the stand-in. */
  readonly isDialectBound?: boolean | undefined;
  /** Other names for it: older ones, dated ones. */
  readonly aliases?: RegExp | undefined;
  /** Whether the kind has a form for an answer that a client gave as text; none: for any. */
  readonly takesAnswer?: ((text: string) => boolean) | undefined;
  /** A call that a provider made itself, as if the client had run it; nothing without a result. */
  readonly ownCall?: ((item: Fields) => readonly [Call, Result] | undefined) | undefined;
  /** None: only a provider can run it, so that nothing can stand in for it. */
  readonly standIn?: StandIn | undefined;
};

/** A decoder for kinds whose input is known only when the arguments are complete. */
export function whole(decode: (text: string) => string): Decoder {
  let text = "";
  return {
    each(piece) {
      text += piece;
      return "";
    },
    // What was cut off is not read as if it were whole.
    end: (complete) => (complete ? decode(text) : text),
  };
}

/** Arguments without the text around them, where a model put their JSON in one. */
export function bareArguments(text: string): string {
  const inner = jsonOf(text);
  if (typeof inner !== "string") return text;
  const value = jsonOf(inner);
  return typeof value === "object" && value !== null ? inner : text;
}

/** What stands under a key that some write around it and some do not. */
export const inside = (value: Fields, key: string): Fields =>
  isFields(value[key]) ? value[key] : value;

export const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

/** What does not even look like JSON is the line that the model had in mind. */
export const plainLine = (text: string): string | undefined =>
  /^\s*[{["]/.test(text) || text.trim() === "" ? undefined : text;

/** The fields of `value` that are among `names`, in that order, nulls and absent ones left out. */
export function pick(
  value: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const name of names) if (value[name] != null) picked[name] = value[name];
  return picked;
}
