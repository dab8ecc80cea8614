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
export function say<T>(events: Iterable<T>): Source<T> {
  return (sink) => {
    const rest = events[Symbol.iterator]();
    let state: "going" | "paused" | "over" = "going";
    const go = (): void => {
      while (state === "going") {
        const step = rest.next();
        if (step.done === true) {
          state = "over";
          sink.flush();
          sink.end();
          return;
        }
        sink.each(step.value);
        sink.flush();
      }
    };
    queueMicrotask(go);
    return {
      pause: () => void (state === "going" && (state = "paused")),
      resume() {
        if (state !== "paused") return;
        state = "going";
        queueMicrotask(go);
      },
      stop: () => void (state = "over"),
    };
  };
}

/** Reads a source at the reader's own pace: it is paused while nobody asks. */
export async function* iterate<T>(source: Source<T>): AsyncGenerator<T, void, undefined> {
  let waiting: T[] = [];
  let over = false;
  let wake = (): void => {};
  const flow = source({
    each: (event) => void waiting.push(event),
    flush: () => wake(),
    end() {
      over = true;
      wake();
    },
  });
  try {
    for (;;) {
      const ready = waiting;
      waiting = [];
      if (ready.length > 0) flow.pause();
      yield* ready;
      if (over && waiting.length === 0) return;
      if (waiting.length > 0) continue;
      const more = new Promise<void>((resolve) => (wake = resolve));
      flow.resume();
      await more;
    }
  } finally {
    if (!over) flow.stop();
  }
}
