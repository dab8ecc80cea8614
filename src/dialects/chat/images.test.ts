import { expect, it } from "vitest";
import { delta, done, read, role, stop, text } from "../../../test/support/chat-frames.ts";
import type { Fields } from "../../turn/turn.ts";
import { imageItem, imagesIn, writeHosted } from "./answer-fields.ts";

const writeImage = (item: Fields): Fields | undefined =>
  writeHosted(item, 0, { id: "a", created: 0, now: () => 0, newId: (prefix) => prefix });

const url = "data:image/webp;base64,UklGRg==";
const image = { type: "image_url", image_url: { url } };

it("finds pictures beside a text", () => {
  expect(imagesIn([image, { image_url: "https://example.com/a.png" }, null, {}])).toEqual([
    url,
    "https://example.com/a.png",
  ]);
  expect(imagesIn(null)).toEqual([]);
});

it.each([url, "https://example.com/a.png"])("gives back what it took: %s", (address) => {
  const { first, last } = imageItem(address, "ig_1");
  expect(first).toMatchObject({ type: "image_generation_call", id: "ig_1", result: null });
  expect(writeImage(first)).toBeUndefined();
  expect(writeImage(last)).toEqual({ type: "image_url", image_url: { url: address } });
});

it("knows no other item for a picture", () => {
  expect(writeImage({ type: "web_search_call", result: "x" })).toBeUndefined();
});

it("is read where it stands in a stream, which is forwarded all the same", () => {
  const said = read([role, text("Look:"), delta({ images: [image] }), stop, done]);
  expect(said.events).toContainEqual({
    type: "item-end",
    choice: 0,
    item: 0,
    dialect: "responses",
    raw: {
      type: "image_generation_call",
      id: "ig_new0",
      status: "completed",
      result: "UklGRg==",
      output_format: "webp",
    },
  });
  expect(said.frames.every(({ forwardable }) => forwardable)).toBe(true);
});
