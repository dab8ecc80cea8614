/** Where a flow of events goes. */
export type Sink<T> = {
  each(event: T): void;
  /** No more is at hand just now: a good moment to write out what has gathered. */
  flush(): void;
  /** Nothing more comes. Called once, unless the flow was stopped. */
  end(): void;
};

/** A hand on a running source: a slow reader pauses it, one that leaves stops it. */
export type Flow = {
  pause(): void;
  resume(): void;
  stop(): void;
};

/**
 * Events on their way. Calling it starts them; nothing reaches the sink before
 * it has returned. A source never throws: failure is its last event.
 */
export type Source<T> = (sink: Sink<T>) => Flow;

/** A source of events that are all there already. */
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
