import { describe, expect, it } from "vitest";
import { bufferedSink } from "./buffered-sink.ts";

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function open(most = 5) {
  const heard: string[] = [];
  let left = 0;
  const out = bufferedSink<string>(
    {
      each: (word) => void heard.push(word),
      flush: () => void heard.push("|"),
      end: () => void heard.push("end"),
    },
    { most, weigh: (word) => word.length, stopped: () => void left++ },
  );
  return { out, heard, left: () => left };
}

describe("the way of a turn's events", () => {
  it("takes what one read brought at once, and then its end", async () => {
    const { out, heard } = open();
    out.emit("a");
    out.emit("b");
    out.end();
    await settled();
    expect(heard).toEqual(["a", "b", "|", "end"]);
  });

  it("keeps what comes for a reader that pauses, and gives it in order", async () => {
    const { out, heard } = open();
    out.pause();
    out.emit("a");
    out.emit("b");
    out.end();
    await settled();
    expect(heard).toEqual([]);
    out.resume();
    await settled();
    expect(heard).toEqual(["a", "b", "|", "end"]);
  });

  it("says when it keeps too much, and no more once that was taken", async () => {
    const { out } = open();
    out.emit("long enough to be too much, but on its way");
    expect(out.isFull()).toBe(false);
    await settled();
    out.pause();
    out.emit("12345");
    expect(out.isFull()).toBe(false);
    out.emit("6");
    expect(out.isFull()).toBe(true);
    out.resume();
    await settled();
    expect(out.isFull()).toBe(false);
  });

  it("takes nothing more for a reader that has left", async () => {
    const { out, heard, left } = open();
    out.emit("a");
    out.stop();
    out.emit("b");
    out.end();
    await settled();
    expect(heard).toEqual([]);
    expect([left(), out.left()]).toEqual([1, true]);
  });
});
