import { describe, expect, it } from "vitest";
import type { Fields } from "../../turn/turn.ts";
import { fit, learn, type Template } from "./fast-road.ts";
import type { Spoken } from "./read-choice.ts";

const frame = (content: string, more: Fields = {}): Fields => ({
  id: "x",
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...more,
});

function learned(raw: Fields, spoken: Spoken): Template {
  const template = learn(JSON.stringify(raw), raw, spoken);
  if (template === undefined) throw new Error("nothing was learned");
  return template;
}
const say = (text: string): Spoken => ({ type: "text-delta", choice: 0, text });

describe("a template", () => {
  const template = learned(frame("a"), say("a"));

  it.each(["b", "", 'quote " and \\ and \n', "\u2028 é 😀", '"}}],"id":"y"'])("fits %j", (text) => {
    expect(fit(template, JSON.stringify(frame(text)))).toBe(text);
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
  ])("does not fit a frame with %s", (_, data) => {
    expect(fit(template, data)).toBeUndefined();
  });

  it("looks past padding", () => {
    const padded = learned(frame("a", { obfuscation: "123", z: 1 }), say("a"));
    expect(fit(padded, JSON.stringify(frame("b", { obfuscation: "", z: 1 })))).toBe("b");
    expect(fit(padded, JSON.stringify(frame("b", { obfuscation: "\n", z: 1 })))).toBeUndefined();
    expect(fit(padded, JSON.stringify(frame("b", { obfuscation: "4", z: 2 })))).toBeUndefined();
  });

  it("finds the text behind words that look like its place", () => {
    const misleading = { note: '"content":"a"', meta: { content: "a" }, ...frame("a") };
    const found = learned(misleading, say("a"));
    const other = { ...misleading, choices: frame("b").choices };
    expect(fit(found, JSON.stringify(other))).toBe("b");
    expect(fit(found, JSON.stringify({ ...other, meta: { content: "b" } }))).toBeUndefined();
  });

  it("is made for arguments, reasoning and refusals too", () => {
    const of = (delta: Fields): Fields => ({ choices: [{ delta }] });
    const call = (args: string): Fields => of({ tool_calls: [{ function: { arguments: args } }] });
    const spoken: Spoken = { type: "call-delta", choice: 0, call: 0, text: "{" };
    expect(fit(learned(call("{"), spoken), JSON.stringify(call("}")))).toBe("}");
    const input = (text: string): Fields => of({ tool_calls: [{ custom: { input: text } }] });
    expect(fit(learned(input("{"), spoken), JSON.stringify(input("}")))).toBe("}");
    const refusal: Spoken = { type: "refusal-delta", choice: 0, text: "no" };
    expect(fit(learned(of({ refusal: "no" }), refusal), JSON.stringify(of({ refusal: "!" })))).toBe(
      "!",
    );
    for (const key of ["reasoning", "reasoning_content"]) {
      const said: Spoken = {
        type: "reasoning-delta",
        choice: 0,
        text: "a",
        of: "content",
        part: 0,
      };
      expect(fit(learned(of({ [key]: "a" }), said), JSON.stringify(of({ [key]: "b" })))).toBe("b");
    }
  });

  it("is not made where the text is not in its place", () => {
    const raw = { choices: [{ delta: { content: ["a"] } }] };
    expect(learn(JSON.stringify(raw), raw, say("a"))).toBeUndefined();
  });
});
