import { describe, expect, it } from "vitest";
import type { Fields } from "../../turn/turn.ts";
import { cut, fits, type Hole, type Stencil } from "./stencil.ts";
import { cpuTime } from "../../../test/support/cpu-time.ts";

const frame = (content: string, more: Fields = {}): Fields => ({
  id: "x",
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...more,
});

const text: Hole = { type: "text", path: ["choices", "0", "delta", "content"] };
const padding: Hole = { type: "padding", path: ["obfuscation"] };

function learned(raw: Fields, ...holes: Hole[]): Stencil {
  const stencil = cut(JSON.stringify(raw), holes);
  if (stencil === undefined) throw new Error("nothing was learned");
  return stencil;
}
const fit = (stencil: Stencil, data: string): string | undefined =>
  fits(stencil, data) ? stencil.text : undefined;

describe("a stencil", () => {
  const stencil = learned(frame("a"), text);

  it.each(["b", 'quote " and \\ and \n', "\u2028 é 😀", '"}}],"id":"y"'])("fits %j", (text) => {
    expect(fit(stencil, JSON.stringify(frame(text)))).toBe(text);
  });

  it.each([
    ["another id", JSON.stringify({ ...frame("a"), id: "y" })],
    ["more behind it", JSON.stringify(frame("a", { usage: null }))],
    ["an end", JSON.stringify(frame("a")).replace("null", '"stop"')],
    ["a bare control character", JSON.stringify(frame("a")).replace('"a"', '"\t"')],
    ["a bad escape", JSON.stringify(frame("a")).replace('"a"', '"\\x"')],
    ["no end", JSON.stringify(frame("a")).slice(0, -1)],
    ["an open string", JSON.stringify(frame("a\\")).slice(0, 45)],
    ["nothing in it", ""],
    ["no text", JSON.stringify(frame(""))],
  ])("does not fit a frame with %s", (_, data) => {
    expect(fit(stencil, data)).toBeUndefined();
  });

  it("looks past padding", () => {
    const padded = learned(frame("a", { obfuscation: "123", z: 1 }), text, padding);
    expect(fit(padded, JSON.stringify(frame("b", { obfuscation: "", z: 1 })))).toBe("b");
    expect(fit(padded, JSON.stringify(frame("b", { obfuscation: "\n", z: 1 })))).toBeUndefined();
    expect(fit(padded, JSON.stringify(frame("b", { obfuscation: "4", z: 2 })))).toBeUndefined();
  });

  it("finds the text behind words that look like its place", () => {
    const misleading = { note: '"content":"a"', meta: { content: "a" }, ...frame("a") };
    const found = learned(misleading, text);
    const other = { ...misleading, choices: frame("b").choices };
    expect(fit(found, JSON.stringify(other))).toBe("b");
    expect(fit(found, JSON.stringify({ ...other, meta: { content: "b" } }))).toBeUndefined();
  });
});

it("finds its holes in linear time, however often their keys stand in a frame", () => {
  const labels = Array.from({ length: 40_000 }, () => '"content":""').join(",");
  const data = `{"labels":{${labels}},"choices":[{"delta":{"content":"a"}}]}`;
  const started = cpuTime();
  const hole: Hole = { type: "text", path: ["choices", "0", "delta", "content"] };
  expect(cut(data, [hole])?.pieces.at(-1)).toBe('"}}]}');
  expect(cpuTime() - started).toBeLessThan(1_000);
});
