import type { Fault } from "../../turn/fault.ts";
import type { TurnRecording } from "../run/recorder.ts";
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
