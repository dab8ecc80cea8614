import type { OnDecision } from "../turn/decision.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { ClientName } from "../turn/names.ts";
import type { Turn } from "../turn/turn.ts";
import type { ToolSupport } from "./strategy.ts";

/** One question to a model, in the words of a turn. */
export type ModelRequest = Pick<Turn, "items" | "tools" | "toolChoice" | "format" | "params">;

/** A model that an agent runs on. */
export type Adapter = ToolSupport & {
  /** How it is told from others in sessions and logs: `upstream/model`. */
  readonly name: string;
  /** Asks the model once. A failure is the last event; an aborted signal ends the events with its reason thrown. */
  call(request: ModelRequest, options: AskOptions): AsyncIterable<TurnEvent<ClientName>>;
};

export type AskOptions = {
  readonly signal: AbortSignal;
  /** Hears what had to be changed for the model, and in what it said. */
  readonly report: OnDecision;
};
