import { describe, expect, it } from "vitest";
import type { Profile } from "../turn/profile.ts";
import { extendProfile } from "./extend.ts";
import { genericChat } from "./generic.ts";
import { modelProfile } from "./models.ts";
import { openaiResponses } from "./openai.ts";

const base: Profile = {
  ...genericChat,
  history: { media: [] },
  models: [
    { match: ["*-vl", "see-*"], history: { media: ["image"] } },
    { match: "see-2*", tools: { choice: ["auto"] } },
    { match: "a.c", formats: ["text"] },
  ],
};
const seen = (model: string, profile = base): Profile => modelProfile(profile, model);

describe("a profile for a model", () => {
  it("says otherwise what its name is named for, and the rest as for all", () => {
    expect(seen("x-vl").history).toEqual({ media: ["image"] });
    expect(seen("x-vl").tools).toEqual(base.tools);
    expect(seen("see-1").history?.media).toEqual(["image"]);
    expect(seen("x").history?.media).toEqual([]);
    expect(seen("x")).toBe(base);
  });

  it("is of all that fit it, the later before the earlier", () => {
    expect(seen("see-2b").history?.media).toEqual(["image"]);
    expect(seen("see-2b").tools).toEqual({ ...base.tools, choice: ["auto"] });
    const later = { ...base, models: [...(base.models ?? []), { match: "see*", history: {} }] };
    expect(seen("see-1", later).history?.media).toEqual(["image"]);
  });

  it("goes by whole names, in large and small letters, and takes signs as they are", () => {
    expect(seen("X-VL").history?.media).toEqual(["image"]);
    expect(seen("x-vl-2")).toBe(base);
    expect(seen("a.c").formats).toEqual(["text"]);
    expect(seen("abc")).toBe(base);
  });

  it("is the same object again, also for another model that is as different", () => {
    expect(seen("see-1")).toBe(seen("see-1"));
    expect(seen("see-1")).toBe(seen("y-vl"));
    const before = seen("x-vl");
    for (let at = 0; at < 3000; at++) seen(`model-${at}`);
    expect(seen("x-vl")).toBe(before);
    expect(seen("x", before)).toBe(before);
  });

  it("gives way to what is said of all models later", () => {
    const blind = extendProfile(base, { history: { media: ["audio"] } });
    expect(seen("x", blind).history?.media).toEqual(["audio"]);
    expect(seen("x-vl", blind).history?.media).toEqual(["audio"]);
    const again = extendProfile(blind, { models: [{ match: "x-vl", history: { media: [] } }] });
    expect(seen("x-vl", again).history?.media).toEqual([]);
    expect(seen("see-2", again).tools.choice).toEqual(["auto"]);
  });
});

describe("the models of OpenAI's Responses API", () => {
  it.each([
    ["gpt-5.5", true],
    ["gpt-5.2-chat-latest", true],
    ["gpt-5-chat-latest", false],
    ["o3-mini", true],
    ["gpt-4o", undefined],
  ])("%s reasons of itself: %s", (model, reasons) => {
    expect(modelProfile(openaiResponses, model).reasons).toBe(reasons);
  });
});
