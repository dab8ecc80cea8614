import { describe, expect, it } from "vitest";
import { Fault } from "../../turn/fault.ts";
import type { Failure } from "../retry.ts";
import { BufferedSink } from "./buffered-sink.ts";

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function open(limit = 64 + 5) {
  const received: string[] = [];
  const failures: Failure[] = [];
  let stops = 0;
  const out = new BufferedSink(
    {
      each: (event) => void received.push("text" in event ? event.text : event.type),
      flush: () => void received.push("|"),
      end: () => void received.push("end"),
    },
    { limit, onFailure: (one) => void failures.push(one), onStop: () => void stops++ },
  );
  const emit = (text: string): void => out.emit({ type: "text-delta", choice: 0, text });
  return { out, emit, received, failures, stops: () => stops };
}
const failure: Failure = { fault: new Fault("upstream.cut", "no"), again: true };

describe("the buffer of a turn's events", () => {
  it("takes what one read brought at once, and then its end", async () => {
    const { out, emit, received } = open();
    emit("a");
    emit("b");
    out.end();
    await settled();
    expect(received).toEqual(["a", "b", "|", "end"]);
  });

  it("keeps what comes for a reader that pauses, and gives it in order", async () => {
    const { out, emit, received } = open();
    out.pause();
    emit("a");
    emit("b");
    out.end();
    await settled();
    expect(received).toEqual([]);
    out.resume();
    await settled();
    expect(received).toEqual(["a", "b", "|", "end"]);
  });

  it("says when it keeps too much, and no more once that was taken", async () => {
    const { out, emit } = open();
    emit("long enough to be too much, but on its way");
    expect(out.isFull).toBe(false);
    await settled();
    out.pause();
    emit("12345");
    expect(out.isFull).toBe(false);
    emit("6");
    expect(out.isFull).toBe(true);
    out.resume();
    await settled();
    expect(out.isFull).toBe(false);
  });

  it("takes nothing more for a reader that has left", async () => {
    const { out, emit, received, stops } = open();
    emit("a");
    out.stop();
    emit("b");
    out.end();
    await settled();
    expect(received).toEqual([]);
    expect([stops(), out.stopped]).toEqual([1, true]);
  });

  it("fails the attempt before the first event, and ends with the fault after it", async () => {
    const early = open();
    early.out.fail(failure);
    early.out.fail(failure);
    const late = open();
    late.emit("a");
    late.out.fail(failure);
    await settled();
    expect([early.received, early.failures]).toEqual([[], [failure]]);
    expect([late.received, late.failures]).toEqual([["a", "turn-fail", "|", "end"], []]);
  });
});
