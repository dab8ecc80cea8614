import { describe, expect, it } from "vitest";
import type { Flow, Sink, Source } from "../../stream/flow.ts";
import type { Stage } from "../../stream/stage.ts";
import { iterate } from "./upstream.ts";

const same: Stage<number, number> = { each: (event, emit) => emit(event) };

/** A source that is driven by hand, and what was done to it. */
function byHand() {
  const done: string[] = [];
  let sink: Sink<number> | undefined;
  const flow: Flow = {
    pause: () => void done.push("pause"),
    resume: () => void done.push("resume"),
    stop: () => void done.push("stop"),
  };
  const source: Source<number> = (given) => {
    sink = given;
    return flow;
  };
  const send = (...events: readonly number[]): void => {
    for (const event of events) sink?.each(event);
    sink?.flush();
  };
  return { done, source, send, end: () => sink?.end() };
}

const reading = (source: Source<number>, signal = new AbortController().signal) =>
  iterate(source, same, signal);

describe("the events of a source", () => {
  it("come in order, to their end", async () => {
    const { source, send, end, done } = byHand();
    const events = reading(source);
    const all = (async () => {
      const got: number[] = [];
      for await (const event of events) got.push(event);
      return got;
    })();
    await Promise.resolve();
    send(1, 2);
    send(3);
    end();
    expect(await all).toEqual([1, 2, 3]);
    expect(done).toEqual([]);
  });

  it("wait for a slow reader, and the source with them", async () => {
    const { source, send, done, end } = byHand();
    const events = reading(source);
    const first = events.next();
    send(...Array.from({ length: 300 }, (_, at) => at));
    expect((await first).value).toBe(0);
    expect(done).toEqual(["pause"]);
    for (let at = 1; at < 300; at++) await events.next();
    const next = events.next();
    await new Promise(setImmediate);
    expect(done).toEqual(["pause", "resume"]);
    end();
    expect((await next).done).toBe(true);
  });

  it("stop when the reader leaves", async () => {
    const { source, send, done } = byHand();
    const events = reading(source);
    const first = events.next();
    send(1);
    await first;
    await events.return();
    expect(done).toEqual(["stop"]);
  });

  it("end with the reason of an aborted signal", async () => {
    const { source, done } = byHand();
    const abort = new AbortController();
    const next = reading(source, abort.signal).next();
    await Promise.resolve();
    abort.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
    expect(done).toEqual(["stop"]);
  });
});
