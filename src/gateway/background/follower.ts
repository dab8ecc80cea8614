import type { Reply } from "../exchange.ts";

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
    if (this.#isGone || this.#isFull) return;
    const text = this.#frames.slice(this.#next).join("");
    this.#next = this.#frames.length;
    if (text !== "") this.#isFull = !this.#reply.write(text);
    if (this.#isOver && !this.#isFull) this.#close();
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
