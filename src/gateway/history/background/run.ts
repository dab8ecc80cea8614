import type { BackgroundForm } from "../../../dialects/dialect.ts";
import type { Fault } from "../../../turn/fault.ts";
import type { Tenant } from "../../../turn/tenant.ts";
import { KEEP_ALIVE, type Reply, type ReplyData } from "../../http/exchange.ts";
import { Follower } from "./follower.ts";

type RunOptions = {
  readonly tenant: Tenant;
  readonly id: string;
  readonly form: BackgroundForm;
  /** What ends every stream, behind its last event. */
  readonly endMarker: string;
  /** Takes so many bytes of memory, and gives what gives them back. Throws a Fault where there is no room. */
  readonly take: (bytes: number) => () => void;
  /** It is over, and what its client is told has been stored. */
  readonly onEnd: (run: BackgroundRun) => void;
};

/** What a frame takes in memory beside its characters, each of which takes up to two bytes. */
const FRAME_BYTES = 64;
/** Memory is taken in pieces of this many bytes. */
const PIECE_BYTES = 65_536;

/** An answer that is made while nobody waits. Its events are kept, for whoever follows it from any of them on. */
export class BackgroundRun {
  readonly tenant: Tenant;
  readonly id: string;
  readonly #options: RunOptions;
  /** By their numbers, which are their places. */
  readonly #frames: string[] = [];
  #followers: Follower[] = [];
  #partial = "";
  #isOver = false;
  #saved = 0;
  #untaken = 0;
  readonly #releases: (() => void)[] = [];
  #cancel: ((fault: Fault) => void) | undefined;
  readonly ended: Promise<void>;
  #resolveEnded: () => void = () => {};

  constructor(options: RunOptions) {
    this.#options = options;
    this.tenant = options.tenant;
    this.id = options.id;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Where the answer is written to, in place of a client. */
  readonly reply: Reply = {
    head: () => {},
    write: (data) => this.#write(data),
    end: (data = "") => {
      this.#write(data);
      this.end();
    },
    onDrain: () => {},
    onLeave: () => {},
  };

  /** How it is ended before its time. */
  onCancel(cancel: (fault: Fault) => void): void {
    this.#cancel = cancel;
  }

  cancel(fault: Fault): void {
    if (!this.#isOver) this.#cancel?.(fault);
  }

  /** Sends a client all events from a number on, and those to come. */
  follow(reply: Reply, next: number): void {
    const { endMarker } = this.#options;
    const follower = new Follower(this.#frames, reply, { next, endMarker });
    this.#followers = this.#followers.filter((one) => !one.isGone);
    this.#followers.push(follower);
    if (this.#isOver) follower.end();
    else follower.push();
  }

  /** The next events to store, at most this many characters but at least one event; `end` is the number of the next one. */
  unsaved(maxLength: number): { readonly text: string; readonly end: number } {
    let end = this.#saved;
    let length = 0;
    for (; end < this.#frames.length; end++) {
      length += this.#frames[end]?.length ?? 0;
      if (length > maxLength && end > this.#saved) break;
    }
    return { text: this.#frames.slice(this.#saved, end).join(""), end };
  }

  /** Notes that all events before this number are stored. */
  saved(end: number): void {
    this.#saved = end;
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const follower of this.#followers) follower.end();
    this.#followers = [];
    this.#options.onEnd(this);
    this.#resolveEnded();
  }

  #write(data: ReplyData): boolean {
    if (data === KEEP_ALIVE) {
      for (const follower of this.#followers) follower.keepAlive(KEEP_ALIVE);
      return true;
    }
    const pieces = (this.#partial + String(data)).split("\n\n");
    this.#partial = pieces.pop() ?? "";
    for (const piece of pieces) {
      const frame = `${piece}\n\n`;
      // Comments and the mark of the end have no numbers, and are not sent again.
      if (this.#options.form.sequenceIn(frame) === undefined) continue;
      this.#frames.push(frame);
      this.#untaken += 2 * frame.length + FRAME_BYTES;
    }
    if (this.#untaken >= PIECE_BYTES) this.#takeMemory();
    for (const follower of this.#followers) follower.push();
    return true;
  }

  #takeMemory(): void {
    try {
      this.#releases.push(this.#options.take(this.#untaken));
      this.#untaken = 0;
    } catch (error) {
      // Not at once: whoever wrote this is at work on the answer.
      queueMicrotask(() => this.cancel(error as Fault));
    }
  }

  /** Gives back the memory of its events. */
  release(): void {
    for (const release of this.#releases.splice(0)) release();
  }
}
