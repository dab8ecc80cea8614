import type { Clock } from "../turn/clock.ts";

/**
 * The clock of one stream, with one alarm. It stops while the stream is paused: silence that a
 * slow reader causes must not look like silence of the source.
 */
export class StreamClock {
  readonly #clock: Clock;
  readonly #ring: (moment: number) => void;
  /** Milliseconds of all pauses that have ended. */
  #pausedMs = 0;
  #pausedSince: number | undefined;
  /** The moment of the alarm. */
  #moment: number | undefined;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, ring: (moment: number) => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  now(): number {
    return (this.#pausedSince ?? this.#clock.now()) - this.#pausedMs;
  }

  /** Sets the alarm, or turns it off; an earlier setting no longer counts. */
  wakeAt(moment: number | undefined): void {
    if (moment === this.#moment) return;
    this.#moment = moment;
    this.#start();
  }

  pause(): void {
    if (this.#pausedSince !== undefined) return;
    this.#pausedSince = this.#clock.now();
    this.#start();
  }

  resume(): void {
    if (this.#pausedSince === undefined) return;
    this.#pausedMs += this.#clock.now() - this.#pausedSince;
    this.#pausedSince = undefined;
    this.#start();
  }

  #start(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const moment = this.#moment;
    if (moment === undefined || this.#pausedSince !== undefined) return;
    this.#cancel = this.#clock.at(moment + this.#pausedMs, () => {
      this.#cancel = undefined;
      this.#moment = undefined;
      this.#ring(moment);
    });
  }
}
