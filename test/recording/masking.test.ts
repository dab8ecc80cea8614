import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scrubber } from "../../src/observe/recording/secrets.ts";
import { chatCalls } from "../quirks/chat-calls.ts";
import { chatEndings } from "../quirks/chat-endings.ts";
import { chatText } from "../quirks/chat-text.ts";
import { chatErrors } from "../quirks/errors.ts";
import { framing } from "../quirks/framing.ts";
import { geminiQuirks } from "../quirks/gemini.ts";
import { hostedItems } from "../quirks/hosted.ts";
import { written, type Quirk } from "../quirks/quirk.ts";
import { responsesEndings } from "../quirks/responses-endings.ts";
import { responsesItems } from "../quirks/responses.ts";
import { geminiChunk } from "../support/fake-gemini.ts";
import { growth, LINEAR } from "../support/growth.ts";
import { eventsOf, maskChunks, shapes } from "./read-wire.ts";

const rows = [
  ...[chatCalls, chatText, chatEndings, chatErrors, framing].flatMap((list) =>
    list.map((quirk) => ({ ...quirk, dialect: "chat" })),
  ),
  ...[responsesItems, responsesEndings, hostedItems].flatMap((list) =>
    list.map((quirk) => ({ ...quirk, dialect: "responses" })),
  ),
  ...geminiQuirks.map((quirk) => Object.assign({ dialect: "gemini" }, quirk)),
];

const bytesOf = ({ wire }: Quirk): Buffer => {
  if ("body" in wire) return Buffer.from(JSON.stringify(wire.body));
  const parts = "severed" in wire ? wire.severed : wire.stream;
  return Buffer.concat(written(parts).map((part) => Buffer.from(part as string)));
};

const splitAt = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );

describe("masked streams", () => {
  it.each(rows)("$dialect: $quirk is read as the same events", (row) => {
    const chunks = splitAt(bytesOf(row), 11);
    const masked = maskChunks(chunks);
    expect(masked.map(({ length }) => length)).toEqual(chunks.map(({ length }) => length));
    expect(shapes(eventsOf(row.dialect, masked))).toEqual(shapes(eventsOf(row.dialect, chunks)));
  });

  it("split anywhere have the same bytes", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...rows),
        fc.integer({ min: 1, max: 200 }),
        fc.constantFrom("masked", "full"),
        (row, size, content) => {
          const bytes = bytesOf(row);
          const split = Buffer.concat(maskChunks(splitAt(bytes, size), content));
          expect(split).toEqual(Buffer.concat(maskChunks([bytes], content)));
        },
      ),
      { numRuns: 300 },
    );
  });

  it("of either form of Gemini hide a key that is split over frames", () => {
    const frames = ["My key is AIza", "Sy01234567890123456", "7890123456789, keep it."].map(
      (text) => JSON.stringify(geminiChunk([{ text }])),
    );
    const streams = [frames.map((one) => `data: ${one}\n\n`).join(""), `[${frames.join(",")}]`];
    for (const stream of streams)
      for (const content of ["masked", "full"] as const) {
        const masked = Buffer.concat(maskChunks([Buffer.from(stream)], content)).toString();
        expect(masked).not.toMatch(/AIza|Sy0123|789, keep/);
        expect(masked).toHaveLength(stream.length);
      }
  });

  it("that hold no keys are as they were where content is full", () => {
    for (const row of rows) {
      const bytes = bytesOf(row);
      expect(Buffer.concat(maskChunks([bytes], "full"))).toEqual(bytes);
    }
  });

  it.each(["-eyJ", "-eyJ.", "eyJabcdefgh.", "bearer ", "a://", "?key=", "-----BEGIN A ", "sk-a "])(
    "are looked through for keys in proportion to their length: %s",
    async (piece) => {
      const scrub = scrubber([]);
      expect(await growth((times) => scrub(piece.repeat(times)), 2000)).toBeLessThan(LINEAR);
    },
  );

  it.each(["eyJhbGciOiJ9.eyJzdWIiOiIx.c2ln", "token-eyJhbGciOiJ9.eyJzdWIiOiIx.c2ln"])(
    "hold no token: %s",
    (token) => expect(scrubber([])(`a.b ${token} c`)).not.toContain("eyJ"),
  );

  it("take time in proportion to their length", async () => {
    const frame = (at: number): string =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: `word${at} and ${at}` } }] })}\n\n`;
    const mask = (frames: number): unknown =>
      maskChunks(Array.from({ length: frames }, (_, at) => Buffer.from(frame(at))));
    expect(await growth(mask, 1000)).toBeLessThan(LINEAR);
  });
});
