import * as fc from "fast-check";
import { expect, it } from "vitest";
import { packTurn, unpackHead, type PackedItem } from "./packed-turn.ts";
import { TextBlocks } from "./text-blocks.ts";

const encoder = new TextEncoder();
// JSON text is well-formed; ids are the client's, and may be anything.
const anyText = fc.string({ unit: "binary" });
const loneHalf = fc.constantFrom("\u{D800}", "a\u{DFFF}b", "\0", "\n", "é", "日本", "🦜");
const anyId = fc.oneof(anyText, loneHalf);
const json = fc.json({ stringUnit: "binary" }).map((text) => JSON.stringify(JSON.parse(text)));
const item = fc.record({ id: anyId, json, group: anyId }, { requiredKeys: ["id", "json"] });
const items = fc.array(item, { maxLength: 5 });
const response = fc.option(
  fc.record(
    { input: items, json, previous: anyId, origin: anyText },
    { requiredKeys: ["input", "json"] },
  ),
  { nil: undefined },
);
const turn = fc.record({ items, response });

const none = { start: 0, items: 0, head: 0, end: 0 };

it("gives back each turn as it was, from one block of many", () => {
  fc.assert(
    fc.property(
      fc.array(turn, { maxLength: 20 }),
      fc.integer({ min: 1, max: 5000 }),
      (all, size) => {
        const blocks = new TextBlocks(size);
        const block = blocks.open();
        const places = all.map((one) => {
          const { bytes, ...rest } = packTurn(one, blocks);
          return { ...rest, start: block.add(bytes), end: bytes.length };
        });
        for (const [at, one] of all.entries()) {
          const { start, items: from, head: to, end } = places[at] ?? none;
          const read = (first: number, bytes: number): string =>
            block.read({ start: start + first, bytes });
          const head = unpackHead(read(to, end - to));
          const whole = ({ id, group, start: first, bytes }: PackedItem) => {
            const text = read(first, bytes);
            return { id, json: text, ...(group !== undefined && { group }) };
          };
          const { responseBytes, input, items: own, ...rest } = head;
          const kept =
            responseBytes === undefined
              ? undefined
              : { ...rest, input: input.map(whole), json: read(0, responseBytes) };
          expect({ items: own.map(whole), response: kept }).toEqual(one);
          const jsons = [...(one.response?.input ?? []), ...one.items].map((each) => each.json);
          expect(read(from, to - from)).toBe(jsons.join(","));
        }
      },
    ),
  );
});

it("takes the memory of a dropped block for the next, and takes no more than it needs", () => {
  const blocks = new TextBlocks(1600);
  const first = blocks.open();
  for (let at = 0; at < 16; at++) first.add(encoder.encode("x".repeat(100)));
  first.drop();
  const memory = blocks.take(1600);
  expect(new TextDecoder().decode(memory.subarray(0, 3))).toBe("xxx");
  expect(blocks.take(1600)).not.toBe(memory);
  expect(blocks.take(60).length).toBe(100);
  expect(blocks.take(2000).length).toBe(2000);
});

it("encodes texts of any length", () => {
  const blocks = new TextBlocks(1000);
  const block = blocks.open();
  const texts = ["", "日本", "é".repeat(200_000), "z".repeat(80_000), "z".repeat(80_000), "end"];
  for (const some of [texts, texts.toReversed(), ["a"], []]) {
    const { bytes } = blocks.encode(some, (sizes) => sizes.join(" "));
    const sizes = some.map((text) => Buffer.byteLength(text));
    const read = block.read({ start: block.add(bytes), bytes: bytes.length });
    expect(read).toBe([...some, sizes.join(" ")].join(""));
  }
});
