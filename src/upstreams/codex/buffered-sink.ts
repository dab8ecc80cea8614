import type { Flow, Sink } from "../../stream/flow.ts";

/** The way of one turn's events to their reader. */
export type BufferedSink<T> = Flow & {
  readonly emit: (event: T) => void;
  /** The last event has been said. */
  end(): void;
  /** Whether the reader has left. */
  readonly left: () => boolean;
  /** Whether anything has been said. */
  readonly begun: () => boolean;
  /** Whether more waits for a slow reader than may. */
  readonly isFull: () => boolean;
};

export type BufferOptions<T> = {
  /** The reader has left. */
  readonly stopped: () => void;
  /** What one event costs to keep, in bytes or so, and what all may. */
  readonly weigh: (event: T) => number;
  readonly most: number;
};

/**
 * All threads of a child share one pipe, so a slow reader cannot slow its own
 * thread alone: what comes for it while it is paused waits here, up to a limit
 * that whoever says it has to keep to.
 */
export function bufferedSink<T>(sink: Sink<T>, options: BufferOptions<T>): BufferedSink<T> {
  const { stopped, weigh, most } = options;
  let held: T[] = [];
  let weight = 0;
  let paused = false;
  let ended = false;
  let begun = false;
  let left = false;
  let over = false;
  let flushing = false;

  const isHeldUp = (): boolean => paused || over;
  const write = (): void => {
    flushing = false;
    if (paused || over) return;
    const events = held;
    held = [];
    weight = 0;
    for (const event of events) sink.each(event);
    if (events.length > 0) sink.flush();
    // What the flush brought about may be that the reader pauses or leaves.
    if (isHeldUp() || !ended) return;
    over = true;
    sink.end();
  };
  // Once for all the lines that one read brought.
  const soon = (): void => {
    if (!flushing && !paused) queueMicrotask(write);
    flushing = !paused;
  };

  return {
    emit(event) {
      if (over || ended) return;
      begun = true;
      held.push(event);
      if (paused) weight += weigh(event);
      soon();
    },
    end() {
      ended = true;
      soon();
    },
    pause: () => void (paused = true),
    resume() {
      paused = false;
      flushing = false;
      soon();
    },
    stop() {
      if (!over) stopped();
      left ||= !over;
      over = true;
      held = [];
    },
    left: () => left,
    begun: () => begun,
    isFull: () => weight > most,
  };
}
