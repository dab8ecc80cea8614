import { expect, it } from "vitest";
import { readPart, writePart } from "./content-parts.ts";

const block = {
  type: "document",
  title: "Minutes",
  source: {
    type: "content",
    content: [
      { type: "text", text: "Page one." },
      { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
      { type: "text", text: "" },
      { type: "text", text: "Page two." },
    ],
  },
};

it("says where a document of blocks had a picture, which no text can hold", () => {
  const part = readPart(block, "messages[0].content[0]");
  expect(part).toMatchObject({
    type: "text",
    text: "Minutes\n\nPage one.\n(Here was image content that cannot be shown.)\n\nPage two.",
  });
});

it("gives the document back as it was to those who speak the dialect", () => {
  expect(writePart(readPart(block, "messages[0].content[0]"), true)).toEqual(block);
});

it("reads a text document in a data URL without base64 as its bytes", () => {
  const part = { type: "file", data: "data:text/plain,a%20caf%C3%A9" } as const;
  expect(writePart(part, false)).toMatchObject({
    source: { type: "text", media_type: "text/plain", data: "a café" },
  });
});
