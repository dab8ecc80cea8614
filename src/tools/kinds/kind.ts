import type { JsonSchema } from "../../turn/turn.ts";
import type { Callable } from "../catalog.ts";

/** A function that stands in for a tool of a kind the upstream does not have. */
export type StandIn = {
  readonly description: string;
  readonly schema: JsonSchema;
  /** What the stand-in cannot promise though the tool could; each a phrase. */
  readonly losses: readonly string[];
};

/** Turns a stand-in's arguments, as they stream in, into the input the client expects. */
export type Decoder = {
  /** Takes a piece of the arguments; gives what is now known of the input. */
  each(text: string): string;
  /** The call is over; gives what is left. `complete: false`: it was cut off. */
  end(complete: boolean): string;
};

/**
 * All there is to say of a kind of tool: how it is declared as a function and
 * how calls of that function become calls of the kind again. Both are here, so
 * that they cannot drift apart.
 */
export type Kind = {
  declare(tool: Callable): StandIn;
  /** A past call's input as the stand-in's arguments. */
  encode(input: string): string;
  /** For a new call. */
  decoder(): Decoder;
};
