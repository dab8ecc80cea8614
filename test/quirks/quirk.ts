import type { Usage } from "../../src/turn/event.ts";
import type { Body } from "../support/fake-upstream.ts";

/** A frame as an object is one `data:` line of JSON; text and bytes go out as they are. */
export type Sent = Body | string | Uint8Array;

/** What the upstream sends: the parts of an event stream, or one JSON body. */
export type Wire =
  | { readonly stream: readonly Sent[] }
  /** The connection is closed where the parts end, without the end of the HTTP answer. */
  | { readonly severed: readonly Sent[] }
  | { readonly body: Body };

export type SeenCall = {
  readonly name: string;
  readonly input: string;
  /** Absent: the upstream sent none, so any that is not empty and not another call's. */
  readonly id?: string;
  /** Absent: a function. */
  readonly kind?: "custom";
};

/** What a client must read at every door, streamed and whole; what is absent must be empty. */
export type Seen = {
  readonly text?: string;
  readonly refusal?: string;
  readonly reasoning?: string;
  readonly calls?: readonly SeenCall[];
  /** Why the answer ended; absent: `calls` where there are calls, else `end`. */
  readonly stop?: "end" | "calls" | "length" | "filter";
  /** The types of the items that a Responses client reads; absent: not looked at. */
  readonly items?: readonly string[];
  /** The counts of the turn; absent: not looked at. */
  readonly usage?: Partial<Usage>;
};

/** What an honest failure says, and the text that a stream had passed on by then. */
export type Failed = { readonly fails: RegExp; readonly text?: string };

/** One way in which the answers of a provider differ from what the API documents. */
export type Quirk = {
  readonly quirk: string;
  /** Who does it. */
  readonly providers: string;
  readonly wire: Wire;
  readonly sees: Seen | Failed;
};

export const DONE = "data: [DONE]\n\n";

/** The parts of an answer as they leave, frames written as event stream lines. */
export const written = (parts: readonly Sent[]): (string | Uint8Array)[] =>
  parts.map((part) =>
    typeof part === "string" || part instanceof Uint8Array
      ? part
      : `data: ${JSON.stringify(part)}\n\n`,
  );

/** A stream of the Responses API whose events are numbered from 0. */
export const numbered = (...events: readonly Body[]): Wire => ({
  stream: events.map((event, at) => Object.assign({ sequence_number: at }, event)),
});
