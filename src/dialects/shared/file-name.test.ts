import { expect, it } from "vitest";
import { fileName } from "./content.ts";

it.each([
  ["data:application/pdf;base64,AAAA", "document.pdf"],
  ["data:text/plain;charset=utf-8;base64,AAAA", "document.txt"],
  ["data:text/csv;base64,AAAA", "document.csv"],
  [
    "data:application/vnd.openxmlformats-officedocument.wordprocessingml.document;base64,AAAA",
    "document.docx",
  ],
  ["data:application/vnd.oasis.opendocument.text;base64,AAAA", "document.text"],
  ["data:,words", "document.pdf"],
  ["AAAA", "document.pdf"],
])("a file without a name is named by its type: %s", (data, name) => {
  expect(fileName({ type: "file", data })).toBe(name);
  expect(fileName({ type: "file", data, name: "" })).toBe(name);
});

it("a file that has a name, or is not sent along, keeps what it has", () => {
  expect(fileName({ type: "file", data: "AAAA", name: "a.pdf" })).toBe("a.pdf");
  expect(fileName({ type: "file", fileId: "file_1" })).toBeUndefined();
  expect(fileName({ type: "file", url: "https://a.example/b.pdf" })).toBeUndefined();
});
