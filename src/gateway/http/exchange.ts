import type { TurnDone } from "../../observe/happening.ts";
import { sseComment } from "../../stream/sse.ts";
import type { Fault } from "../../turn/fault.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { WireTap } from "../../upstreams/tap.ts";
import type { Config } from "../config.ts";
import type { PlanReport } from "../run/plan-record.ts";
import type { ConnectionLog } from "./session.ts";

/** One HTTP request and its reply, as any host can give them: Node, `fetch`, a test. */
export type Exchange = {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Without its `?`. */
  readonly query: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The host name of the request, if it is none of this machine's. */
  readonly foreign?: string | undefined;
  /** The whole body as text; empty if there was none. */
  readonly body: string;
  /** The session of the WebSocket that carries the request as a message. */
  readonly session?: ConnectionLog | undefined;
  readonly reply: Reply;
  /** Set if the turn is recorded. */
  readonly recording?: TurnRecording | undefined;
};

/** Text, or bytes where a reply holds something else. */
export type ReplyData = string | Uint8Array;

/** A push sink: the gateway writes; the host reports when it is full and when the client has left. */
export type Reply = {
  /** `idle`: text that all readers of the stream ignore between its frames; an SSE comment if left out. */
  head(status: number, headers: Readonly<Record<string, string>>, idle?: string): void;
  /** False asks the writer to wait for `onDrain`. Empty text sends the head alone. */
  write(data: ReplyData): boolean;
  /** `broken`: then breaks the connection off, without the end of the reply. */
  end(data?: ReplyData, broken?: boolean): void;
  /** Refuses the request, for a host whose refusals are not a status and a body. */
  refuse?(fault: Fault, headers: Readonly<Record<string, string>>): void;
  onDrain(then: () => void): void;
  /** Calls `then` if the client leaves before the reply has ended, or if it reads too slowly and is cut off. */
  onLeave(then: (why?: "stalled") => void): void;
};

/** The head of a streamed reply. */
export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Sent in a silent stream to clients of dialects that have no event for it. */
export const KEEP_ALIVE = sseComment("keep-alive");

/** Interface of the recorder: decides which turns to record and receives both wires. */
export type Recorder = {
  /** Called for each request to a door; undefined: it is not recorded. */
  begin(request: RecordedRequest): StartedRecording | undefined;
};

export type RecordedRequest = {
  /** With its body. */
  readonly exchange: Exchange;
  readonly requestId: string;
  readonly tenant: Tenant;
  readonly config: Config;
};

export type StartedRecording = {
  /** The same exchange with a reply that the recorder sees. */
  readonly exchange: Exchange;
};

/** The record of one turn while it runs. */
export type TurnRecording = {
  readonly tap: WireTap;
  /** The request has become a turn. `chain`: as `upstream/model`. */
  begun(asked: { readonly model: string; readonly chain: readonly string[] }): void;
  ended(done: TurnDone, plan: PlanReport | undefined): void;
};
