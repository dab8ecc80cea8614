import type { TurnDone } from "../../observe/happening.ts";
import { sseComment } from "../../stream/sse.ts";
import type { Fault } from "../../turn/fault.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { WireTap } from "../../upstreams/tap.ts";
import type { Config } from "../config.ts";
import type { PlanReport } from "../run/plan-record.ts";
import type { Session } from "./session.ts";

/** One HTTP request and its reply, as any host can give them: Node, `fetch`, a test. */
export type Exchange = {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Without its `?`. */
  readonly query: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Asked for under a name that is none of this machine's, by a host that looks at that. */
  readonly foreign?: string | undefined;
  /** The whole body as text; empty if there was none. */
  readonly body: string;
  /** What the WebSocket remembers that it is a message on; none for a request of its own. */
  readonly session?: Session | undefined;
  readonly reply: Reply;
  /** Where it is recorded. */
  readonly recording?: TurnRecording | undefined;
};

/** Text, or bytes where a reply holds something else. */
export type ReplyData = string | Uint8Array;

/** A push sink: the gateway writes, the host says when it is full and when the client has left. */
export type Reply = {
  head(status: number, headers: Readonly<Record<string, string>>): void;
  /** False asks the writer to wait for `onDrain`. Empty text sends the head alone. */
  write(data: ReplyData): boolean;
  end(data?: ReplyData): void;
  /** Refuses the request, where the host has another form for that than a status and a body. */
  refuse?(fault: Fault, headers: Readonly<Record<string, string>>): void;
  onDrain(then: () => void): void;
  /** The client left before the reply was over, or read nothing of it for too long and was cut off. */
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

/** Records turns, or does not. Given by the host: what it keeps is kept in files. */
export type Recorder = {
  /** Asked once for each request to a door; undefined: it is not recorded, and nobody is in its way. */
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
  /** The same exchange; its reply and the turn's upstream calls are seen by the recorder. */
  readonly exchange: Exchange;
};

/** The record of one turn while it runs. */
export type TurnRecording = {
  readonly tap: WireTap;
  /** The request has become a turn. `chain`: as `upstream/model`. */
  begun(asked: { readonly model: string; readonly chain: readonly string[] }): void;
  ended(done: TurnDone, plan: PlanReport | undefined): void;
};
