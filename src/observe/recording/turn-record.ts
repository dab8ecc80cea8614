import type { PlanReport } from "../../gateway/run/plan-record.ts";
import type {
  Exchange,
  Reply,
  ReplyData,
  RecordedRequest,
  TurnRecording,
} from "../../gateway/http/exchange.ts";
import type { TurnDone } from "../happening.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import type { WireTap } from "../../upstreams/tap.ts";
import type { BundleLine } from "./bundle.ts";

type Headers = Readonly<Record<string, string>>;

type Without<Line, Payload extends string> = Line extends unknown ? Omit<Line, Payload> : never;

/** A line of the bundle before it is masked, with all headers. */
export type RecordedEntry = {
  readonly line: Without<BundleLine, "body" | "text" | "base64" | "message" | "event">;
  readonly bytes?: Buffer | undefined;
  readonly json?: string | undefined;
};

type Options = {
  readonly clock: Clock;
  /** Counts bytes that the record holds; negative: it releases them. False: there is no room for them. */
  readonly hold: (bytes: number) => boolean;
  /** Called once at the end. Undefined: the turn was too large. */
  readonly over: (turn: RecordedTurn | undefined) => void;
};

const ENTRY_BYTES = 200;
/** A turn that holds more is not recorded. */
export const MAX_TURN_BYTES = 16 * 1024 * 1024;

/** Records one turn while it runs. It only appends; masking waits for the end of the turn. */
export class RecordedTurn implements TurnRecording {
  readonly request: RecordedRequest;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly entries: RecordedEntry[] = [];
  asked: { readonly model: string; readonly chain: readonly string[] } | undefined;
  plan: PlanReport | undefined;
  done: TurnDone | undefined;
  status = 0;
  readonly #options: Options;
  readonly #started: number;
  #tries = 0;
  /** Pieces of upstreams read so far. */
  #read = 0;
  #held = 0;
  #isOver = false;

  constructor(request: RecordedRequest, options: Options) {
    this.request = request;
    this.#options = options;
    this.#started = options.clock.now();
    this.startedAt = options.clock.date();
    this.#hold(2 * request.exchange.body.length);
  }

  get exchange(): Exchange {
    const { exchange } = this.request;
    return { ...exchange, reply: this.#watched(exchange.reply), recording: this };
  }

  begun(asked: NonNullable<RecordedTurn["asked"]>): void {
    this.asked = asked;
  }

  ended(done: TurnDone, plan: PlanReport | undefined): void {
    if (done.outcome === "left") this.#add({ line: "client-end", ...this.#ofClient(), left: true });
    this.done = done;
    this.plan = plan;
    this.#finish();
  }

  readonly tap: WireTap = {
    request: (upstream, { method, path, headers, body }) => {
      const of = this.#tryOf();
      const sent = body && Buffer.from(body.buffer, body.byteOffset, body.length);
      const line = { line: "upstream-request", ...of(), upstream, method, path } as const;
      this.#add({ ...line, headers: byName(headers) }, { bytes: sent });
      return {
        head: (status, own) => this.#add({ line: "upstream-head", ...of(), status, headers: own }),
        bytes: (chunk) => {
          this.#read++;
          this.#add({ line: "upstream-bytes", ...of() }, { bytes: Buffer.from(chunk) });
        },
        end: (error) => this.#add({ line: "upstream-end", ...of(), error }),
      };
    },
    answer: (upstream) => {
      const of = this.#tryOf();
      this.#add({ line: "upstream-answer", ...of(), upstream });
      return {
        message: (direction, message) => {
          if (direction === "received") this.#read++;
          const json = JSON.stringify(message);
          this.#add({ line: "upstream-message", ...of(), direction }, { json });
        },
        event: (event) => {
          this.#read++;
          const json = JSON.stringify(event, (_, value: unknown) =>
            value instanceof Fault ? { code: value.code, message: value.message } : value,
          );
          this.#add({ line: "upstream-event", ...of() }, { json });
        },
        end: () => this.#add({ line: "upstream-end", ...of() }),
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
      end: (data, broken) => {
        this.#wrote(data);
        this.#closed();
        reply.end(data, broken);
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
    this.status = status;
    this.#add({ line: "client-head", ...this.#ofClient(), status, headers });
  }

  #wrote(data: ReplyData | undefined): void {
    if (data === undefined || data.length === 0 || this.#isOver) return;
    const bytes = Buffer.from(data as string);
    this.#add({ line: "client-bytes", ...this.#ofClient() }, { bytes });
  }

  /** A request that never became a turn ends with its reply. */
  #closed(): void {
    this.#add({ line: "client-end", ...this.#ofClient(), left: false });
    if (this.asked === undefined) queueMicrotask(() => this.#finish());
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.over(this);
    this.#options.hold(-this.#held);
  }

  /** Numbers a try. The returned function gives the first fields of its lines. */
  #tryOf(): () => { readonly at: number; readonly try: number } {
    const nth = ++this.#tries;
    return () => ({ at: this.#at(), try: nth });
  }

  #ofClient() {
    return { at: this.#at(), after: this.#read };
  }

  #at(): number {
    return Math.round((this.#options.clock.now() - this.#started) * 10) / 10;
  }

  #add(line: RecordedEntry["line"], payload: Omit<RecordedEntry, "line"> = {}): void {
    if (this.#isOver) return;
    this.entries.push({ line, ...payload });
    this.#hold(ENTRY_BYTES + (payload.bytes?.length ?? 0) + 2 * (payload.json?.length ?? 0));
  }

  #hold(bytes: number): void {
    this.#held += bytes;
    if (this.#options.hold(bytes) && this.#held <= MAX_TURN_BYTES) return;
    this.#isOver = true;
    this.entries.length = 0;
    this.#options.hold(-this.#held);
    this.#options.over(undefined);
  }
}

/** Headers by their names in lower case, from names and values in turn. */
function byName(flat: readonly string[]): Headers {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < flat.length; at += 2)
    headers[(flat[at] ?? "").toLowerCase()] = flat[at + 1] ?? "";
  return headers;
}
