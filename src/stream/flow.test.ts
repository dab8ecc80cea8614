import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { iterate, say, type Flow, type Sink, type Source } from "./flow.ts";

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function listen<T>(source: Source<T>, on: (heard: T | "flush" | "end") => void): Flow {
  return source({
    each: (event) => on(event),
    flush: () => on("flush"),
    end: () => on("end"),
  });
}

describe("say", () => {
  it("says all there is, after it has returned", async () => {
    const heard: string[] = [];
    listen(say(["a", "b"]), (what) => void heard.push(what));
    expect(heard).toEqual([]);
    await settled();
    expect(heard).toEqual(["a", "flush", "b", "flush", "flush", "end"]);
  });

  it("holds while paused", async () => {
    const heard: string[] = [];
    const flow = listen(say(["a", "b"]), (what) => {
      heard.push(what);
      if (what === "a") flow.pause();
    });
    await settled();
    expect(heard).toEqual(["a", "flush"]);
    flow.resume();
    await settled();
    expect(heard.slice(2)).toEqual(["b", "flush", "flush", "end"]);
  });

  it.each(["a", "flush"])("says nothing once stopped at %s", async (at) => {
    const heard: string[] = [];
    const flow = listen(say(["a", "b"]), (what) => {
      heard.push(what);
      if (what === at) flow.stop();
    });
    await settled();
    flow.resume();
    await settled();
    expect(heard.at(-1)).toBe(at);
  });

  it("does not end once stopped in its last flush", async () => {
    const heard: string[] = [];
    const flow = listen(say<string>([]), (what) => {
      heard.push(what);
      flow.stop();
    });
    await settled();
    expect(heard).toEqual(["flush"]);
  });
});

/** A source that counts up for ever, so many to a chunk, one chunk to each turn of the loop. */
function counting(perChunk: number): {
  source: Source<number>;
  state: () => string;
  said: () => number;
} {
  let state = "not begun";
  let said = 0;
  const source: Source<number> = (sink) => {
    state = "going";
    const go = (): void => {
      if (state !== "going") return;
      for (let at = 0; at < perChunk; at++) sink.each(said++);
      sink.flush();
      setImmediate(go);
    };
    setImmediate(go);
    return {
      pause: () => void (state = "paused"),
      resume() {
        if (state !== "paused") return;
        state = "going";
        setImmediate(go);
      },
      stop: () => void (state = "stopped"),
    };
  };
  return { source, state: () => state, said: () => said };
}

describe("iterate", () => {
  it("gives what was said, then is over", async () => {
    const all: number[] = [];
    for await (const event of iterate(say([1, 2, 3]))) all.push(event);
    expect(all).toEqual([1, 2, 3]);
  });

  it("starts the source when first asked", async () => {
    const { source, state } = counting(1);
    const events = iterate(source);
    expect(state()).toBe("not begun");
    await events.next();
    expect(state()).not.toBe("not begun");
    await events.return?.();
  });

  it("holds the source while nobody asks", async () => {
    const { source, state, said } = counting(3);
    const events = iterate(source);
    expect(await events.next()).toEqual({ done: false, value: 0 });
    await settled();
    await settled();
    expect(state()).toBe("paused");
    expect(said()).toBe(3);
    await events.next();
    await events.next();
    expect(said()).toBe(3);
    expect(await events.next()).toEqual({ done: false, value: 3 });
    await events.return?.();
  });

  it("stops the source when the reader leaves", async () => {
    const { source, state } = counting(2);
    for await (const event of iterate(source)) if (event === 3) break;
    expect(state()).toBe("stopped");
  });

  it("stops the source when the reader throws", async () => {
    const { source, state } = counting(2);
    const read = async (): Promise<void> => {
      for await (const event of iterate(source)) if (event === 1) throw new Error("enough");
    };
    await expect(read()).rejects.toThrow("enough");
    expect(state()).toBe("stopped");
  });

  it("stops a source that has fallen silent, and answers whoever was asking", async () => {
    let stopped = false;
    const silent: Source<number> = () => ({
      pause() {},
      resume() {},
      stop: () => void (stopped = true),
    });
    const events = iterate(silent);
    const asked = events.next();
    expect(await events.return?.()).toEqual({ done: true, value: undefined });
    expect(stopped).toBe(true);
    expect(await asked).toEqual({ done: true, value: undefined });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  it("never starts a source it was told to leave", async () => {
    const { source, state } = counting(1);
    const events = iterate(source);
    await events.return?.();
    expect(await events.next()).toEqual({ done: true, value: undefined });
    expect(state()).toBe("not begun");
  });

  it("does not stop a source that is over", async () => {
    let stopped = false;
    const source: Source<number> = (sink) => {
      queueMicrotask(() => {
        sink.each(1);
        sink.end();
      });
      return { pause() {}, resume() {}, stop: () => void (stopped = true) };
    };
    for await (const event of iterate(source)) expect(event).toBe(1);
    expect(stopped).toBe(false);
  });

  it("answers those who ask at once in order", async () => {
    const events = iterate(say(["a", "b"]));
    const asked = [events.next(), events.next(), events.next()];
    expect(await Promise.all(asked)).toEqual([
      { done: false, value: "a" },
      { done: false, value: "b" },
      { done: true, value: undefined },
    ]);
  });

  it("loses nothing and never stalls, however source and reader are interleaved", async () => {
    type Pace = "at once" | "microtask" | "turn";
    const pace = fc.constantFrom<Pace>("at once", "microtask", "turn");
    const chunks = fc.array(fc.tuple(pace, fc.nat({ max: 3 })), { minLength: 1, maxLength: 8 });
    const after = (how: Pace, then: () => void): void => {
      if (how === "at once") then();
      else if (how === "microtask") queueMicrotask(then);
      else setImmediate(then);
    };
    /** Speaks in chunks, each at its pace, some within `resume`; ends without a flush. */
    const uneven =
      (plan: readonly (readonly [Pace, number])[]): Source<number> =>
      (sink: Sink<number>) => {
        const left = [...plan];
        let count = 0;
        let paused = false;
        let coming = false;
        const speak = (): void => {
          coming = false;
          if (paused) return;
          const [, size] = left.shift() ?? ["", 0];
          for (let more = size; more > 0; more--) sink.each(count++);
          if (left.length === 0) return sink.end();
          sink.flush();
          go();
        };
        const go = (): void => {
          const [how] = left[0] ?? [];
          if (coming || paused || how === undefined) return;
          coming = true;
          after(how, speak);
        };
        queueMicrotask(go);
        return {
          pause: () => void (paused = true),
          resume() {
            paused = false;
            go();
          },
          stop: () => void (paused = true),
        };
      };
    await fc.assert(
      fc.asyncProperty(chunks, fc.infiniteStream(pace), async (plan, paces) => {
        const total = plan.reduce((sum, [, size]) => sum + size, 0);
        const read: number[] = [];
        for await (const event of iterate(uneven(plan))) {
          read.push(event);
          await new Promise<void>((resolve) => after(paces.next().value, resolve));
        }
        expect(read).toEqual(Array.from({ length: total }, (_, at) => at));
      }),
      { numRuns: 300 },
    );
  });
});
