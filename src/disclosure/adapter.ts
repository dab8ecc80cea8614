import type { OnDecision } from "../turn/decision.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { ClientName } from "../turn/names.ts";
import type { Turn } from "../turn/turn.ts";
import type { Capabilities } from "./strategy.ts";

/** One question to a model, in the words of a turn. */
export type ModelRequest = Pick<Turn, "items" | "tools" | "toolChoice" | "format" | "params">;

/** A model that an agent runs on. */
export type Adapter = {
  /** How it is told from others in sessions and logs: `upstream/model`. */
  readonly name: string;
  readonly capabilities: Capabilities;
  /** Whether tools can be added to a conversation under way; where not, opening a section with tools restarts it. */
  readonly supportsDynamicTools: boolean;
  /** Asks the model once. A failure is the last event; an aborted signal ends the events with its reason thrown. */
  call(request: ModelRequest, options: AskOptions): AsyncIterable<TurnEvent<ClientName>>;
};

export type AskOptions = {
  readonly signal: AbortSignal;
  /** Hears what had to be changed for the model, and in what it said. */
  readonly report: OnDecision;
};
