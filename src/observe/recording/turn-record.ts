import type { PlanReport } from "../../gateway/run/plan-record.ts";
import type {
  Exchange,
  Reply,
  ReplyData,
  RecordedRequest,
  TurnRecording,
} from "../../gateway/http/exchange.ts";
import type { TurnDone } from "../happening.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { AnswerTap, TryTap, WireTap } from "../../upstreams/tap.ts";

type Headers = Readonly<Record<string, string>>;
type Moment = { readonly at: number };
type OfTry = Moment & { readonly try: number };
type OfClient = Moment & { readonly after: number };

/** What was seen of a turn, in its order, as it was: nothing is masked yet. */
export type Entry =
  | (OfTry & {
      readonly type: "upstream-request";
      readonly upstream: string;
      readonly method: string;
      readonly path: string;
      readonly headers: Headers;
      readonly body: Uint8Array | undefined;
    })
  | (OfTry & { readonly type: "upstream-head"; readonly status: number; readonly headers: Headers })
  | (OfTry & { readonly type: "upstream-bytes"; readonly bytes: Buffer })
  | (OfTry & { readonly type: "upstream-end"; readonly error: string | undefined })
  | (OfTry & { readonly type: "upstream-answer"; readonly upstream: string })
  | (OfTry & {
      readonly type: "upstream-message";
      readonly direction: "sent" | "received";
      readonly json: string;
    })
  | (OfTry & { readonly type: "upstream-event"; readonly json: string })
  | (OfClient & {
      readonly type: "client-head";
      readonly status: number;
      readonly headers: Headers;
    })
  | (OfClient & { readonly type: "client-bytes"; readonly bytes: Buffer })
  | (OfClient & { readonly type: "client-end"; readonly left: boolean });

/** A turn that is over, as it was seen. */
export type SeenTurn = Pick<RecordedRequest, "requestId" | "config"> & {
  readonly request: Pick<Exchange, "method" | "path" | "headers" | "body"> & {
    readonly socket: boolean;
  };
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly asked: { readonly model: string; readonly chain: readonly string[] } | undefined;
  readonly entries: readonly Entry[];
  readonly plan: PlanReport | undefined;
  readonly done: TurnDone | undefined;
  readonly status: number;
};

export type TurnRecordOptions = RecordedRequest & {
  readonly now: () => number;
  readonly date: () => number;
  /** Bytes that are held from now on, or let go; false: there is no room for them. */
  readonly hold: (bytes: number) => boolean;
  /** Called once. Undefined: it was too much to hold. */
  readonly over: (turn: SeenTurn | undefined) => void;
};

/** What an entry holds beside its bytes. */
const ENTRY_BYTES = 200;

/** Sees one turn while it runs. It only appends: what is made of it waits until the turn is over. */
export class TurnRecord implements TurnRecording {
  readonly #options: TurnRecordOptions;
  readonly #started: number;
  readonly #startedAt: number;
  readonly #entries: Entry[] = [];
  #tries = 0;
  /** What was read of upstreams so far, in pieces. */
  #read = 0;
  #held = 0;
  #isOver = false;
  #asked: SeenTurn["asked"];
  #status = 0;

  constructor(options: TurnRecordOptions) {
    this.#options = options;
    this.#started = options.now();
    this.#startedAt = options.date();
    this.#hold(2 * options.exchange.body.length);
  }

  get exchange(): Exchange {
    const { exchange } = this.#options;
    return { ...exchange, reply: this.#watched(exchange.reply), recording: this };
  }

  begun(asked: NonNullable<SeenTurn["asked"]>): void {
    this.#asked = asked;
  }

  ended(done: TurnDone, plan: PlanReport | undefined): void {
    if (done.outcome === "left") this.#add({ type: "client-end", left: true, ...this.#ofClient() });
    this.#finish(done, plan);
  }

  readonly tap: WireTap = {
    request: (upstream, { method, path, headers, body }): TryTap => {
      const nth = ++this.#tries;
      this.#add(
        {
          type: "upstream-request",
          upstream,
          method,
          path,
          headers: pairs(headers),
          body,
          ...this.#ofTry(nth),
        },
        body?.length,
      );
      return {
        head: (status, fields) =>
          this.#add({ type: "upstream-head", status, headers: fields, ...this.#ofTry(nth) }),
        bytes: (chunk) => {
          this.#read++;
          const bytes = this.#isOver ? Buffer.alloc(0) : Buffer.from(chunk);
          this.#add({ type: "upstream-bytes", bytes, ...this.#ofTry(nth) }, bytes.length);
        },
        end: (error) => this.#add({ type: "upstream-end", error, ...this.#ofTry(nth) }),
      };
    },
    answer: (upstream): AnswerTap => {
      const nth = ++this.#tries;
      this.#add({ type: "upstream-answer", upstream, ...this.#ofTry(nth) });
      return {
        message: (direction, message) => {
          if (direction === "received") this.#read++;
          const json = this.#isOver ? "" : JSON.stringify(message);
          const entry = { type: "upstream-message", direction, json } as const;
          this.#add({ ...entry, ...this.#ofTry(nth) }, 2 * json.length);
        },
        event: (event) => {
          this.#read++;
          const json = this.#isOver ? "" : JSON.stringify(plainEvent(event));
          this.#add({ type: "upstream-event", json, ...this.#ofTry(nth) }, 2 * json.length);
        },
        end: () => this.#add({ type: "upstream-end", error: undefined, ...this.#ofTry(nth) }),
      };
    },
  };

  #watched(reply: Reply): Reply {
    return {
      head: (status, headers) => {
        this.#head(status, headers);
        reply.head(status, headers);
      },
      write: (data) => {
        this.#wrote(data);
        return reply.write(data);
      },
      end: (data) => {
        this.#wrote(data);
        this.#closed();
        reply.end(data);
      },
      ...(reply.refuse !== undefined && {
        refuse: (fault: Fault, headers: Headers) => {
          this.#head(fault.status, headers);
          this.#closed();
          reply.refuse?.(fault, headers);
        },
      }),
      onDrain: (then) => reply.onDrain(then),
      onLeave: (then) => reply.onLeave(then),
    };
  }

  #head(status: number, headers: Headers): void {
    this.#status = status;
    this.#add({ type: "client-head", status, headers, ...this.#ofClient() });
  }

  #wrote(data: ReplyData | undefined): void {
    if (data === undefined || data.length === 0 || this.#isOver) return;
    const bytes = Buffer.from(data as string);
    this.#add({ type: "client-bytes", bytes, ...this.#ofClient() }, bytes.length);
  }

  /** A request that never became a turn is over with its reply. */
  #closed(): void {
    this.#add({ type: "client-end", left: false, ...this.#ofClient() });
    if (this.#asked === undefined) queueMicrotask(() => this.#finish(undefined, undefined));
  }

  #finish(done: TurnDone | undefined, plan: PlanReport | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { requestId, config, exchange, over } = this.#options;
    const { method, path, headers, body, session } = exchange;
    over({
      requestId,
      config,
      request: { method, path, headers, body, socket: session !== undefined },
      startedAt: this.#startedAt,
      asked: this.#asked,
      entries: this.#entries,
      plan,
      done,
      status: done?.status ?? this.#status,
    });
    this.#options.hold(-this.#held);
  }

  #ofTry(nth: number): OfTry {
    return { at: this.#at(), try: nth };
  }

  #ofClient(): OfClient {
    return { at: this.#at(), after: this.#read };
  }

  #at(): number {
    return Math.round((this.#options.now() - this.#started) * 10) / 10;
  }

  #add(entry: Entry, bytes = 0): void {
    if (this.#isOver) return;
    this.#entries.push(entry);
    this.#hold(bytes + ENTRY_BYTES);
  }

  #hold(bytes: number): void {
    this.#held += bytes;
    if (this.#options.hold(bytes) && this.#held <= MAX_TURN_BYTES) return;
    this.#isOver = true;
    this.#entries.length = 0;
    this.#options.hold(-this.#held);
    this.#options.over(undefined);
  }
}

/** A turn that holds more is not recorded. */
export const MAX_TURN_BYTES = 16 * 1024 * 1024;

function pairs(flat: readonly string[]): Headers {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < flat.length; at += 2)
    headers[(flat[at] ?? "").toLowerCase()] = flat[at + 1] ?? "";
  return headers;
}

/** An event as JSON can have it. */
const plainEvent = (event: TurnEvent<UpstreamName>): object =>
  event.type === "turn-fail"
    ? { type: event.type, fault: { code: event.fault.code, message: event.fault.message } }
    : event;
