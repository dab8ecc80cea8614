import type { OnDecision } from "../turn/decision.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { ClientName } from "../turn/names.ts";
import type { Turn } from "../turn/turn.ts";
import type { ToolSupport } from "./strategy.ts";

/** One request to a model, as parts of a turn. */
export type ModelRequest = Pick<Turn, "items" | "tools" | "toolChoice" | "format" | "params">;

/** A model on which agents run. */
export type Adapter = ToolSupport & {
  /** Identifies the model in sessions and logs: `upstream/model`. */
  readonly name: string;
  /** Calls the model once. A failure is the last event. An aborted signal throws its reason. */
  call(request: ModelRequest, options: AskOptions): AsyncIterable<TurnEvent<ClientName>>;
};

export type AskOptions = {
  readonly signal: AbortSignal;
  /** Receives each change to the request or the answer. */
  readonly report: OnDecision;
};
