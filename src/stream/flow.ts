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

/** A source of a finished list of events. */
export function sourceOf<T>(events: Iterable<T>): Source<T> {
  return (sink) => {
    const rest = events[Symbol.iterator]();
    let paused = false;
    let over = false;
    const go = (): void => {
      for (;;) {
        if (paused || over) return;
        const step = rest.next();
        if (step.done !== true) sink.each(step.value);
        if (!over) sink.flush();
        if (step.done !== true || over) continue;
        over = true;
        sink.end();
      }
    };
    queueMicrotask(go);
    return {
      pause: () => void (paused = true),
      resume() {
        if (paused) queueMicrotask(go);
        paused = false;
      },
      stop: () => void (over = true),
    };
  };
}
