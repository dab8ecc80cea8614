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

/**
 * Reads a source at the reader's own pace: it is paused while nobody asks. A
 * generator would not do: its `return` waits for a `next` under way, and a
 * reader that leaves must stop a source that has fallen silent.
 */
export function iterate<T>(source: Source<T>): AsyncIterableIterator<T, void, undefined> {
  type Step = IteratorResult<T, void>;
  const asking: ((step: Step) => void)[] = [];
  let ready: T[] = [];
  let taken = 0;
  let flow: Flow | undefined;
  let over = false;

  const hand = (): void => {
    while (taken < ready.length) {
      const ask = asking.shift();
      if (ask === undefined) return;
      ask({ done: false, value: ready[taken++] as T });
    }
    ready = [];
    taken = 0;
    if (over) for (const ask of asking.splice(0)) ask({ done: true, value: undefined });
  };
  const sink: Sink<T> = {
    each: (event) => void ready.push(event),
    flush() {
      hand();
      if (asking.length === 0) flow?.pause();
    },
    end() {
      over = true;
      hand();
    },
  };

  return {
    next() {
      const { promise, resolve } = Promise.withResolvers<Step>();
      asking.push(resolve);
      hand();
      if (asking.length > 0 && !over) {
        if (flow === undefined) flow = source(sink);
        else flow.resume();
      }
      return promise;
    },
    return() {
      if (!over) flow?.stop();
      over = true;
      ready = [];
      taken = 0;
      hand();
      return Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
