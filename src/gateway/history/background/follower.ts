import type { Reply } from "../../http/exchange.ts";

/** Characters that are sent before it is seen whether the client takes more. */
const MOST_AT_ONCE = 64 * 1024;

/** A client that follows a stream which others may follow too, each as fast as it reads. */
export class Follower {
  readonly #frames: readonly string[];
  readonly #reply: Reply;
  readonly #endMarker: string;
  #next: number;
  #isFull = false;
  #isOver = false;
  #isGone = false;

  /** `frames` grows while the stream goes on; the client is sent those from number `next` on. */
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

  /** Sends what is new. */
  push(): void {
    while (!this.#isGone && !this.#isFull && this.#next < this.#frames.length) {
      let text = "";
      while (text.length < MOST_AT_ONCE && this.#next < this.#frames.length)
        text += this.#frames[this.#next++] ?? "";
      this.#isFull = !this.#reply.write(text);
    }
    if (this.#isOver && !this.#isFull && !this.#isGone) this.#close();
  }

  /** Sends a keep-alive, which has no number. */
  keepAlive(text: string): void {
    if (!this.#isGone && !this.#isFull) this.#isFull = !this.#reply.write(text);
  }

  /** Nothing more will come. */
  end(): void {
    this.#isOver = true;
    this.push();
  }

  #close(): void {
    this.#isGone = true;
    this.#reply.end(this.#endMarker);
  }
}

type FollowOptions = { readonly next: number; readonly endMarker: string };
