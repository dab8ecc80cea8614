import type { Reply } from "../../http/exchange.ts";

/** The most characters of one write. */
const MOST_AT_ONCE = 64 * 1024;

/** Sends the events of an answer to one client, as fast as the client reads. */
export class Follower {
  readonly #frames: readonly string[];
  readonly #reply: Reply;
  readonly #endMarker: string;
  #next: number;
  #isFull = false;
  #isEnded = false;
  #isGone = false;

  /** `frames` grows during the stream; the client receives those from the index `next`. */
  constructor(frames: readonly string[], reply: Reply, { next, endMarker }: FollowOptions) {
    this.#frames = frames;
    this.#reply = reply;
    this.#next = next;
    this.#endMarker = endMarker;
    reply.onDrain(() => {
      this.#isFull = false;
      this.push();
    });
    reply.onLeave(() => {
      this.#isGone = true;
    });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Sends the new frames. */
  push(): void {
    while (!this.#isGone && !this.#isFull && this.#next < this.#frames.length) {
      let text = "";
      while (text.length < MOST_AT_ONCE && this.#next < this.#frames.length)
        text += this.#frames[this.#next++] ?? "";
      this.#isFull = !this.#reply.write(text);
    }
    if (this.#isEnded && !this.#isFull && !this.#isGone) this.#close();
  }

  /** Sends a keep-alive, which has no number. */
  keepAlive(text: string): void {
    if (!this.#isGone && !this.#isFull) this.#isFull = !this.#reply.write(text);
  }

  /** Ends the stream after the last frame. */
  end(): void {
    this.#isEnded = true;
    this.push();
  }

  #close(): void {
    this.#isGone = true;
    this.#reply.end(this.#endMarker);
  }
}

type FollowOptions = { readonly next: number; readonly endMarker: string };
