import { describe, expect, it } from "vitest";
import { FrameTracker } from "./message-arrival.ts";

const TEXT = 0x1;
const CONTINUATION = 0x0;
const PING = 0x9;

/** A frame as a client sends it. */
function frame(opcode: number, length: number, isFinal = true): Uint8Array {
  const first = (isFinal ? 0x80 : 0) | opcode;
  const long = new Uint8Array(8);
  new DataView(long.buffer).setBigUint64(0, BigInt(length));
  const lengths =
    length < 126
      ? [0x80 | length]
      : length < 65_536
        ? [0xfe, ...long.subarray(6)]
        : [0xff, ...long];
  return Uint8Array.from([
    first,
    ...lengths,
    0xab,
    0xcd,
    0xef,
    0x01,
    ...Buffer.alloc(length, 0x81),
  ]);
}

describe("the frames of a WebSocket", () => {
  it.each([0, 5, 125, 126, 65_535, 65_536])("end with their payload of %d bytes", (length) => {
    const frames = new FrameTracker();
    const bytes = frame(TEXT, length);
    expect(frames.read(bytes.subarray(0, -1))).toBe(false);
    expect(frames.isAmid).toBe(true);
    expect(frames.read(bytes.subarray(-1))).toBe(true);
    expect(frames.isAmid).toBe(false);
  });

  it("make a message until the final one, whatever comes between", () => {
    const frames = new FrameTracker();
    expect(frames.read(frame(TEXT, 3, false))).toBe(false);
    expect(frames.read(frame(PING, 4))).toBe(false);
    expect(frames.parts).toBe(1);
    expect(frames.read(frame(CONTINUATION, 0, false))).toBe(false);
    expect(frames.parts).toBe(2);
    expect(frames.read(frame(CONTINUATION, 200))).toBe(true);
    expect(frames.parts).toBe(0);
  });

  it("end and begin within one chunk", () => {
    const frames = new FrameTracker();
    const both = Buffer.concat([frame(TEXT, 3), frame(TEXT, 3, false)]);
    expect(frames.read(both)).toBe(true);
    expect(frames.isAmid).toBe(true);
    expect(frames.parts).toBe(1);
  });

  it("are the same however their bytes are split", () => {
    const bytes = Buffer.concat([
      frame(TEXT, 300, false),
      frame(PING, 2),
      frame(CONTINUATION, 10),
      frame(TEXT, 7),
      frame(TEXT, 70_000, false),
    ]);
    const ended = (size: number): readonly unknown[] => {
      const frames = new FrameTracker();
      let ends = 0;
      for (let at = 0; at < bytes.length; at += size)
        if (frames.read(bytes.subarray(at, at + size))) ends++;
      return [ends, frames.parts, frames.isAmid];
    };
    for (const size of [1, 2, 3, 7]) expect(ended(size)).toEqual([2, 1, true]);
    for (const size of [1000, 100_000]) expect(ended(size)).toEqual([1, 1, true]);
  });
});
