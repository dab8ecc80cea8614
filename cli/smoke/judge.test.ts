import { describe, expect, it } from "vitest";
import { useToolBlocks, answerProblems } from "./judge.ts";
import type { Scene } from "./scene.ts";
import type { ReadAnswer } from "./clients.ts";

const call = (id: string, city: string) => ({
  id,
  name: "get_weather",
  arguments: JSON.stringify({ city }),
});
const block = (city: string): string =>
  `<use_tool>\n  <name>get_weather</name>\n  <city>${city}</city>\n</use_tool>`;
const calls = [call("c1", "Paris"), call("c2", "Zürich & Baden")];
const good: ReadAnswer = {
  calls,
  text: "",
  finish: "tool_calls",
  figures: { count: 2, truncated: false, mode: "burst" },
  problems: [],
};
const json: Scene = { door: "chat", stream: false, output: "openai-json" };
const xml: Scene = { door: "chat", stream: true, output: "obsidian-xml" };
const two = { least: 2, most: Infinity };

describe("an answer with a burst", () => {
  it("is right as JSON, and with blocks that are its calls", () => {
    expect(answerProblems(json, good, two)).toEqual([]);
    const text = `Let me see.\n${block("Paris")}\n\n${block("Zürich &amp; Baden")}`;
    expect(answerProblems(xml, { ...good, text }, two)).toEqual([]);
    const finish = "completed";
    expect(answerProblems({ ...json, door: "responses" }, { ...good, finish }, two)).toEqual([]);
  });

  const one = { calls: calls.slice(0, 1), figures: { count: 1, truncated: false, mode: "burst" } };
  const cut = { count: 1, truncated: true, mode: "first" };
  const wrongs: [RegExp, Scene, Partial<ReadAnswer>][] = [
    [/^1 call came, expected 2; the model made no more/, json, one],
    [/^1 call came, .* the gateway withheld the others/, json, { ...one, figures: cut }],
    [/finish reason is `stop`, expected `tool_calls`/, json, { finish: "stop" }],
    [/finish reason is missing/, json, { finish: "" }],
    [
      /call 1 has the id of an earlier one, c1/,
      json,
      { calls: [call("c1", "x"), call("c1", "y")] },
    ],
    [/call 0 has no id/, json, { calls: [call("", "x"), call("c1", "y")] }],
    [/is for `other`/, json, { calls: [call("c1", "x"), { ...call("c2", "y"), name: "other" }] }],
    [
      /the arguments of call 1 do not fit the declared schema: {"town":1}/,
      json,
      { calls: [call("c1", "x"), { ...call("c2", ""), arguments: '{"town":1}' }] },
    ],
    [
      /the arguments of call 0 do not fit/,
      json,
      { calls: [{ ...call("c1", ""), arguments: "{" }, call("c2", "x")] },
    ],
    [/`x-codex-tool-call-\*` headers are missing/, json, { figures: undefined }],
    [/the statistics comment is missing/, { ...json, stream: true }, { figures: undefined }],
    [/the statistics count 1 calls, but 2 came/, json, { figures: cut }],
    [/`content` beside calls/, json, { text: "Let me see." }],
    [/the text contains a <use_tool> block/, json, { text: block("Paris") }],
    [/blocks \(none\) differ from the calls/, xml, {}],
    [/blocks \(get_weather Paris\) differ from the calls/, xml, { text: block("Paris") }],
    [
      /blocks \(get_weather Zürich & Baden, get_weather Paris\) differ/,
      xml,
      { text: block("Zürich &amp; Baden") + block("Paris") },
    ],
  ];
  it.each(wrongs)("is wrong: %s", (problem, scene, fault) => {
    const problems = answerProblems(scene, { ...good, ...fault }, two);
    expect(problems).toEqual([expect.stringMatching(problem)]);
  });

  it("may be held to a cap", () => {
    expect(answerProblems(json, good, { least: 1, most: 1 })).toEqual([
      "2 calls came, expected at most 1",
    ]);
  });

  it("that broke off is not blamed for what it had no time for", () => {
    const broken = {
      ...good,
      calls: [],
      finish: "",
      figures: undefined,
      problems: ["it broke off"],
    };
    expect(answerProblems(xml, broken, two)).toEqual([]);
  });
});

it("reads blocks back to what was meant", () => {
  expect(useToolBlocks(block("A &lt;b&gt; &amp;amp; &quot;c&quot; &apos;d&apos;"))).toEqual([
    { name: "get_weather", city: "A <b> &amp; \"c\" 'd'" },
  ]);
});
