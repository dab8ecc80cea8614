import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeReader, keyIn, loaderNames, LOADERS, unwrapCall, wrapCall } from "./lower.ts";

describe("a call through call_tool", () => {
  const unwrap = (value: unknown) =>
    unwrapCall(typeof value === "string" ? value : JSON.stringify(value), LOADERS);

  it("is one of the tool it names", () => {
    expect(unwrap({ name: "search", arguments: { text: "bees" } })).toEqual({
      ok: true,
      name: "search",
      input: '{"text":"bees"}',
    });
  });

  it("may have its arguments as JSON text", () => {
    expect(unwrap({ name: "search", arguments: '{"text":"bees"}' })).toMatchObject({
      input: '{"text":"bees"}',
    });
  });

  it("keeps its arguments as they were written", () => {
    expect(
      unwrap('{"name":"a","arguments": {"id": 12345678901234567890, "x": 1.0} }'),
    ).toMatchObject({
      input: '{"id": 12345678901234567890, "x": 1.0}',
    });
  });

  it("may have none", () => {
    expect(unwrap({ name: "search" })).toMatchObject({ ok: true, input: "{}" });
  });

  it("is told what it lacks", () => {
    expect(unwrap({ arguments: {} })).toMatchObject({ ok: false });
    expect(unwrap("{")).toMatchObject({ ok: false });
  });

  it("is what was wrapped, whatever the name and the arguments", () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), object, (name, value) => {
        const input = JSON.stringify(value);
        expect(unwrapCall(wrapCall(name, input), LOADERS)).toEqual({ ok: true, name, input });
      }),
    );
  });

  it("keeps arguments that are no object too", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (input) => {
        fc.pre(input.trim() !== "" && input.trim() === input);
        expect(unwrapCall(wrapCall("a", input), LOADERS)).toMatchObject({ input });
      }),
    );
  });
});

it("reads the key of a section however it is given", () => {
  expect(['{"key":"a.b"}', '{"section_key":"a.b"}', '"a.b"'].map(keyIn)).toEqual([
    "a.b",
    "a.b",
    "a.b",
  ]);
  expect(["{}", "[]", "", "{"].map(keyIn)).toEqual([undefined, undefined, undefined, undefined]);
});

it("calls the loaders otherwise where somebody has their names", () => {
  expect(loaderNames(new Set())).toEqual(LOADERS);
  expect(loaderNames(new Set(["read_section", "pb_read_section"]))).toEqual({
    read: "pb_pb_read_section",
    call: "call_tool",
  });
});

it("leaves the catalogue out of a description that has no room for it", () => {
  const lines = ["- archive (2): search, cite"];
  expect(describeReader(lines, 1024).description).toContain("- archive (2): search, cite");
  expect(describeReader(lines, 50).description).toBe(
    "Read the full content of a summarized section.",
  );
});
