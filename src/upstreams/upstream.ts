import type { Source } from "../stream/flow.ts";
import type { Decision } from "../turn/decision.ts";
import type { DialectTraits } from "../turn/dialect-traits.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { UpstreamName } from "../turn/names.ts";
import type { Profile } from "../turn/profile.ts";
import type { Turn } from "../turn/turn.ts";

/** A model backend. */
export type Upstream = {
  readonly name: string;
  readonly profile: Profile;
  /** What its requests and answers are like, where they are in a dialect. */
  readonly traits?: DialectTraits | undefined;
  /** Makes the request ready to send. Pure: nobody is called. */
  prepare(turn: Turn<UpstreamName>, to: PrepareOptions): Prepared;
  /** The models it lists itself, if it can. */
  models?(): Promise<readonly string[]>;
  /** Why it cannot serve just now, where that can be known without asking a model. */
  trouble?(): Promise<Fault | undefined>;
  /** Lets running turns end, then lets go of connections and processes. */
  close(): Promise<void>;
};

export type PrepareOptions = {
  /** The model's name at the upstream. */
  readonly model: string;
  /** What the upstream can do with that model: the one that the turn was planned for. */
  readonly profile: Profile;
  /** Forward the client's own body, and say `frame` events. */
  readonly straight: boolean;
};

/** A request ready to send. */
export type Prepared = {
  /** What the upstream's dialect could not say. */
  readonly decisions: readonly Decision[];
  open(options: OpenOptions): Source<TurnEvent<UpstreamName>>;
};

export type OpenOptions = {
  /** Whether to try again by itself before the first event; an earlier link of a chain does not. */
  readonly retry: boolean;
  readonly requestId: string;
  /** Whose turn it is: what an upstream keeps between turns is found by the same tenant only. */
  readonly tenant: string;
  /** What else the upstream is told where it speaks HTTP, such as whose trace this is part of. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};
