import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lineReader } from "./server.ts";
import { cpuTime } from "../../../test/support/cpu-time.ts";

function reading(longest = 1_000_000) {
  const lines: string[] = [];
  let skipped = 0;
  const read = lineReader({
    longest,
    onLine: (line) => void lines.push(line),
    onSkipped: () => void skipped++,
  });
  return { lines, read, skipped: () => skipped };
}

describe("lines", () => {
  it("are the same however they arrive", () => {
    const text = '{"a":"ü€😀"}\n\n{"b":2}\r\nlast\n';
    const bytes = Buffer.from(text);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 8 }), (cuts) => {
        const { lines, read } = reading();
        const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        for (const [at, from] of places.entries()) read(bytes.subarray(from, places[at + 1]));
        expect(lines).toEqual(['{"a":"ü€😀"}', '{"b":2}\r', "last"]);
      }),
    );
  });

  it("are skipped when they are too long, and only they", () => {
    const { lines, read, skipped } = reading(4);
    read(Buffer.from("ok\ntoo lo"));
    read(Buffer.from("ng\nfine\n"));
    expect(lines).toEqual(["ok", "fine"]);
    expect(skipped()).toBe(1);
  });

  it("cost no more than their length", () => {
    const { lines, read } = reading(64_000_000);
    const piece = Buffer.alloc(64, "x");
    const before = cpuTime();
    for (let at = 0; at < 200_000; at++) read(piece);
    read(Buffer.from("\n"));
    expect(lines[0]).toHaveLength(12_800_000);
    expect(cpuTime() - before).toBeLessThan(2_000);
  });
});
