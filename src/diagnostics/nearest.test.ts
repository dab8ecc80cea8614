import { describe, expect, it } from "vitest";
import { nearest } from "./nearest.ts";

describe("the nearest word", () => {
  it.each([
    ["prot", "port"],
    ["hosst", "host"],
    ["baseURL", "base_url"],
    ["api-key", "api_key"],
    ["KEYS", "keys"],
  ])("%s is %s", (word, meant) => {
    expect(nearest(word, ["host", "port", "keys", "base_url", "api_key"])).toBe(meant);
  });

  it("is none where all are far", () => {
    expect(nearest("zebra", ["host", "port"])).toBeUndefined();
    expect(nearest("x", ["a", "b"])).toBeUndefined();
    expect(nearest("x", [])).toBeUndefined();
  });
});
