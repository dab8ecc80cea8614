import type { Target } from "../dialects/dialect.ts";
import type { Source } from "../stream/flow.ts";
import type { Decision } from "../turn/decision.ts";
import type { DialectTraits } from "../turn/dialect-traits.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { UpstreamName } from "../turn/names.ts";
import type { Profile } from "../turn/profile.ts";
import type { Turn } from "../turn/turn.ts";
import type { AnswerTap, WireTap } from "./tap.ts";

/** A model backend. */
export type Upstream = {
  readonly name: string;
  readonly profile: Profile;
  /** What its requests and answers are like, where they are in a dialect. */
  readonly traits?: DialectTraits | undefined;
  /** Whether it emits the frames that its events came in, where it is asked `straight`. */
  readonly emitsFrames?: boolean | undefined;
  /** Whether it shows a `tap` the bytes of its requests and answers. */
  readonly showsBytes?: boolean | undefined;
  /** Whether it is the embedded demo, which no program is to choose while there is a model. */
  readonly isDemo?: boolean | undefined;
  /** Makes the request ready to send, without any I/O. */
  prepare(turn: Turn<UpstreamName>, to: Target): Prepared;
  /** The models it lists itself, if it can. */
  models?(): Promise<readonly string[]>;
  /** Why it cannot serve just now, where that can be known without asking a model. */
  trouble?(): Promise<Fault | undefined>;
  /** Sends a request that nobody can answer: how it is refused tells whether route and key are right. Throws a Fault where nobody answers. */
  tryRoute?(trial: RouteTrial): Promise<RouteReply>;
  /** Whether requests carry anything that signs in; not said where nobody can know. */
  readonly hasKey?: boolean | undefined;
  /** Lets running turns end, then closes connections and processes. */
  close(): Promise<void>;
};

export type RouteTrial = {
  /** Below the base URL; without it, that of the upstream's own dialect. */
  readonly route?: string | undefined;
  /** Whether what signs in goes along. */
  readonly isSignedIn: boolean;
  /** The one field of the body; without it the body is empty. */
  readonly model?: string | undefined;
};

/** A refusal, without secrets. */
export type RouteReply = {
  readonly status: number;
  readonly message?: string | undefined;
  readonly code?: string | undefined;
  /** When it was, by the upstream's clock; empty where it does not say. */
  readonly date: string;
};

/** A request ready to send. */
export type Prepared = {
  /** What the upstream's dialect cannot express. */
  readonly decisions: readonly Decision[];
  open(options: OpenOptions): Source<TurnEvent<UpstreamName>>;
  /** How many tokens it has, where the upstream says so without answering it. */
  count?(options: CountOptions): Promise<number>;
};

export type CountOptions = Pick<OpenOptions, "tenant"> & {
  /** Is given what ends the count, for a client that leaves. */
  readonly onLeave: (end: () => void) => void;
};

export type OpenOptions = {
  /** Whether to retry before the first event; all upstreams of a chain but the last do not. */
  readonly retry: boolean;
  readonly requestId: string;
  /** Whose turn it is: what an upstream keeps between turns is found by the same tenant only. */
  readonly tenant: string;
  /** Is told how long work on a piece of the answer held the event loop, in milliseconds. */
  readonly worked?: ((ms: number) => void) | undefined;
  /** Is told how the requests fare that are sent for it. */
  readonly watch?: AttemptWatch | undefined;
  /** More headers for an upstream over HTTP, such as the trace's. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sees what is sent and received, where the turn is recorded. */
  readonly tap?: WireTap | undefined;
  /** The same for upstreams that speak in messages. */
  readonly onMessage?: AnswerTap["message"] | undefined;
};

/** Is told how the requests to an upstream fare; the first is known to be sent. */
export type AttemptWatch = {
  /** The head of an answer has come. */
  answered(status: number): void;
  /** A request failed before its first event, and is sent again after so long. */
  retrying(fault: Fault, waitMs: number): void;
  sentAgain(): void;
};
