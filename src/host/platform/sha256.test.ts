import { hash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sha256 } from "./sha256.ts";

const hex = (text: string): string => Buffer.from(sha256(text)).toString("hex");

describe("SHA-256", () => {
  it("has the digests of the standard", () => {
    expect(hex("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(hex("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  });

  it("agrees with Node's at every length of the last block", () => {
    for (let length = 0; length < 200; length++)
      expect(hex("k".repeat(length))).toBe(hash("sha256", "k".repeat(length)));
  });

  it("agrees with Node's on any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        expect(hex(text)).toBe(hash("sha256", text));
      }),
    );
  });
});
