import type { Target } from "../dialects/dialect.ts";
import type { Source } from "../stream/flow.ts";
import type { Decision, OnDecision } from "../turn/decision.ts";
import type { DialectTraits } from "../turn/dialect-traits.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { Fault, FaultCode } from "../turn/fault.ts";
import type { UpstreamName } from "../turn/names.ts";
import type { Profile } from "../turn/profile.ts";
import type { Turn } from "../turn/turn.ts";
import type { AnswerTap, WireTap } from "./tap.ts";

/** A model backend. */
export type Upstream = {
  readonly name: string;
  readonly profile: Profile;
  /** The traits of the dialect of its requests and answers, if they have one. */
  readonly traits?: DialectTraits | undefined;
  /** It emits the frames of its events for `straight` requests. */
  readonly emitsFrames?: boolean | undefined;
  /** It shows a `tap` the bytes of its requests and answers. */
  readonly showsBytes?: boolean | undefined;
  /** It is the embedded demo, which programs choose only if there is no model. */
  readonly isDemo?: boolean | undefined;
  /** Makes the request ready to send, without any I/O. */
  prepare(turn: Turn<UpstreamName>, to: Target): Prepared;
  /** The models that the upstream itself lists. */
  models?(): Promise<readonly string[]>;
  /** The fault that keeps it from serving, found without a request to a model. */
  trouble?(): Promise<Fault | undefined>;
  /** Sends a request that the upstream must refuse. The refusal shows if route and key are right. Throws a Fault without a response. */
  tryRoute?(trial: RouteTrial): Promise<RouteReply>;
  /** Requests carry a key or other credentials; undefined if that is unknown. */
  readonly hasKey?: boolean | undefined;
  /** Waits for running turns, then closes connections and processes. */
  close(): Promise<void>;
};

export type RouteTrial = {
  /** Below the base URL; the route of the upstream's dialect by default. */
  readonly route?: string | undefined;
  /** The request carries credentials. */
  readonly isSignedIn: boolean;
  /** The only field of the body; without it the body is an empty object. */
  readonly model?: string | undefined;
};

/** A refusal, without secrets. */
export type RouteReply = {
  readonly status: number;
  /** Its cause, by the status and the error's own words. */
  readonly fault: FaultCode;
  readonly message?: string | undefined;
  readonly code?: string | undefined;
  /** The `date` header; empty without one. */
  readonly date: string;
};

/** A request ready to send. */
export type Prepared = {
  /** Changes for the upstream's dialect. */
  readonly decisions: readonly Decision[];
  open(options: OpenOptions): Source<TurnEvent<UpstreamName>>;
  /** Asks the upstream for the number of tokens, without an answer of the model. */
  count?(options: CountOptions): Promise<number>;
};

export type CountOptions = Pick<OpenOptions, "tenant"> & {
  /** Receives a function that ends the count if the client leaves. */
  readonly onLeave: (end: () => void) => void;
};

export type OpenOptions = {
  /** Retries before the first event. Of a chain only the last upstream retries. */
  readonly retry: boolean;
  readonly requestId: string;
  /** The upstream keeps data between turns for each tenant apart. */
  readonly tenant: string;
  /** Receives the milliseconds for which work on a piece of the answer held the event loop. */
  readonly worked?: ((ms: number) => void) | undefined;
  readonly watch?: AttemptWatch | undefined;
  /** More headers for an upstream over HTTP, such as a trace's. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Receives requests and answers of a recorded turn. */
  readonly tap?: WireTap | undefined;
  /** Receives messages of a recorded turn, from upstreams without HTTP. */
  readonly onMessage?: AnswerTap["message"] | undefined;
};

/** Receives the result of each attempt. The first attempt needs no report. */
export type AttemptWatch = {
  /** The head of an answer was received. */
  answered(status: number): void;
  /** A request failed before its first event, and is sent again after `waitMs`. */
  retrying(fault: Fault, waitMs: number): void;
  sentAgain(): void;
  /** A part of the answer was odd, or a refused request was sent again in another form. */
  readonly report?: OnDecision | undefined;
};
