/** The receiver of a flow of events. */
export type Sink<T> = {
  each(event: T): void;
  /** The source has no more events for now, so collected text can be written out. */
  flush(): void;
  /** Called once after the last event, unless the flow was stopped. */
  end(): void;
};

/** Controls a running source: a slow reader pauses it, one that leaves stops it. */
export type Flow = {
  pause(): void;
  resume(): void;
  stop(): void;
};

/**
 * A source of events. Calling it starts them; nothing reaches the sink before the call has
 * returned. A source never throws: a failure is its last event.
 */
export type Source<T> = (sink: Sink<T>) => Flow;

/** A source of a finished list of events. `resume` emits the next ones at once. */
export function sourceOf<T>(events: Iterable<T>): Source<T> {
  return (sink) => {
    const rest = events[Symbol.iterator]();
    let isPaused = false;
    let isOver = false;
    let isRunning = false;
    const run = (): void => {
      if (isRunning) return;
      isRunning = true;
      for (;;) {
        if (isPaused || isOver) break;
        const step = rest.next();
        if (step.done !== true) sink.each(step.value);
        if (!isOver) sink.flush();
        if (step.done !== true || isOver) continue;
        isOver = true;
        sink.end();
      }
      isRunning = false;
    };
    queueMicrotask(run);
    return {
      pause: () => void (isPaused = true),
      resume() {
        if (!isPaused) return;
        isPaused = false;
        run();
      },
      stop: () => void (isOver = true),
    };
  };
}
