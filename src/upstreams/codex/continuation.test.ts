import { describe, expect, it } from "vitest";
import type { Fields } from "../../turn/turn.ts";
import { type Resumption, continuationOf, threadKey, awaitsResults } from "./continuation.ts";
import type { CodexRequest } from "./request.ts";

const request = (items: readonly Fields[], thread: Fields = { model: "m" }): CodexRequest => ({
  model: "m",
  thread,
  items,
  options: {},
  decisions: [],
});
const user = (text: string): Fields => ({
  type: "message",
  role: "user",
  content: [{ type: "input_text", text }],
});
const own = (text: string): Fields => ({
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text }],
});
const call = (id: string, input = "{}"): Fields => ({
  type: "function_call",
  call_id: id,
  name: "look",
  arguments: input,
});
const result = (id: string, output: unknown = "seen"): Fields => ({
  type: "function_call_output",
  call_id: id,
  output,
});
const thought: Fields = { type: "reasoning", summary: [], encrypted_content: "x" };

const first = request([user("Hi")]);
const said = {
  text: "Let me see.",
  calls: [
    { id: "a", name: "look", input: '{"x":1,"y":2}', isDynamic: true },
    { id: "b", name: "look", input: "{}", isDynamic: true },
  ],
};
const key = threadKey("tenant", first, said);
const goneOn = [user("Hi"), own("Let me see."), call("a", '{ "y": 2, "x": 1 }'), call("b")];

describe("a request that goes on", () => {
  it("is known by what was told and said, with or without the reasoning", () => {
    const plain = continuationOf("tenant", request([...goneOn, result("a"), result("b")]));
    expect(plain?.key).toBe(key);
    const items = [user("Hi"), thought, ...goneOn.slice(1), result("a"), result("b")];
    expect(continuationOf("tenant", request(items))?.key).toBe(key);
  });

  it("is another for another tenant", () => {
    const items = [...goneOn, result("a"), result("b")];
    expect(continuationOf("other", request(items))?.key).not.toBe(key);
  });

  it("has its answers in the order of the calls, whatever their ids are by now", () => {
    const again = [...goneOn.slice(0, 2), call("a_2", '{"x":1,"y":2}'), call("b_2")];
    const items = [...again, result("b_2", "second"), result("a_2", "first")];
    const further = continuationOf("tenant", request(items));
    expect(further?.key).toBe(key);
    expect(further?.results.flat().map(({ text }) => text)).toEqual(["first", "second"]);
  });

  it("may say more after the results, if the user says it", () => {
    const results = [result("a"), result("b")];
    const further = continuationOf("tenant", request([...goneOn, ...results, user("Quick.")]));
    expect(further?.key).toBe(key);
    expect(further?.more).toEqual([[{ type: "text", text: "Quick." }]]);
    const developer = { ...user("Quick."), role: "developer" };
    expect(continuationOf("tenant", request([...goneOn, ...results, developer]))).toBe(undefined);
  });

  it("brings images in high detail, which is the only one that can be said there", () => {
    const further = (detail?: string): Resumption | undefined => {
      const image = { type: "input_image", image_url: "data:image/png;base64,x", detail };
      return continuationOf("tenant", request([...goneOn, result("a", [image]), result("b")]));
    };
    expect(further("high")?.results[0]).toEqual([
      { type: "inputImage", imageUrl: "data:image/png;base64,x" },
    ]);
    for (const detail of ["auto", "low", undefined]) expect(further(detail)).toBe(undefined);
  });

  it("may show images as well, in the detail that was asked for", () => {
    const image = { type: "input_image", image_url: "data:image/png;base64,x" };
    const shown = [image, { ...image, detail: "high" }];
    const items = [...goneOn, result("a"), result("b"), { ...user(""), content: shown }];
    expect(continuationOf("tenant", request(items))?.more).toEqual([
      ["auto", "high"].map((detail) => ({ type: "image", url: image.image_url, detail })),
    ]);
  });

  it.each<[string, readonly Fields[], Fields?]>([
    ["other words before", [user("Ho"), ...goneOn.slice(1), result("a"), result("b")]],
    [
      "other words of the model",
      [user("Hi"), own("No."), ...goneOn.slice(2), result("a"), result("b")],
    ],
    ["other arguments", [...goneOn.slice(0, 2), call("a"), call("b"), result("a"), result("b")]],
    ["other tools", [...goneOn, result("a"), result("b")], { model: "m", dynamicTools: [] }],
  ])("is another with %s", (_, items, thread) => {
    expect(continuationOf("tenant", request(items, thread))?.key).not.toBe(key);
  });

  it.each<[string, readonly Fields[]]>([
    ["there are no results", [user("Hi")]],
    ["a result is missing", [...goneOn, result("a")]],
    ["there is one too many", [...goneOn, result("a"), result("b"), result("c")]],
    ["the model has answered already", [...goneOn, result("a"), result("b"), own("So.")]],
  ])("is none where %s", (_, items) => {
    expect(continuationOf("tenant", request(items))).toBe(undefined);
  });
});

describe("calls that Codex waits for", () => {
  const offered = request([], { dynamicTools: [{ name: "look" }] });
  const one = (name: string, input: string, id = "a", isDynamic = true) => ({
    text: "",
    calls: [{ id, name, input, isDynamic }],
  });

  it("are of tools it knows, with arguments it can read, each with an id of its own", () => {
    expect(awaitsResults(one("look", "{}"), offered)).toBe(true);
    expect(awaitsResults(one("other", "{}"), offered)).toBe(false);
    expect(awaitsResults(one("look", "{"), offered)).toBe(false);
    expect(awaitsResults(one("look", "{}", ""), offered)).toBe(false);
    expect(awaitsResults(one("look", "{}", "a", false), offered)).toBe(false);
    const [twice] = one("look", "{}").calls;
    expect(awaitsResults({ text: "", calls: twice ? [twice, twice] : [] }, offered)).toBe(false);
  });
});
