import { describe, expect, it } from "vitest";
import { blocksIn, disagreements, problemsIn } from "./judge.ts";
import type { Scene } from "./scene.ts";
import type { AnswerSummary } from "./clients.ts";

const call = (id: string, city: string) => ({
  id,
  name: "get_weather",
  arguments: JSON.stringify({ city }),
});
const block = (city: string): string =>
  `<use_tool>\n  <name>get_weather</name>\n  <city>${city}</city>\n</use_tool>`;
const calls = [call("c1", "Paris"), call("c2", "Zürich & Baden")];
const good: AnswerSummary = {
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
    expect(problemsIn(json, good, two)).toEqual([]);
    const text = `Let me see.\n${block("Paris")}\n\n${block("Zürich &amp; Baden")}`;
    expect(problemsIn(xml, { ...good, text }, two)).toEqual([]);
    const finish = "completed";
    expect(problemsIn({ ...json, door: "responses" }, { ...good, finish }, two)).toEqual([]);
  });

  const one = { calls: calls.slice(0, 1), figures: { count: 1, truncated: false, mode: "burst" } };
  const cut = { count: 1, truncated: true, mode: "first" };
  const wrongs: [RegExp, Scene, Partial<AnswerSummary>][] = [
    [/^1 call came where 2 were expected; the model made no more/, json, one],
    [/^1 call came .* the gateway withheld the others/, json, { ...one, figures: cut }],
    [/finished with `stop` where `tool_calls` belongs/, json, { finish: "stop" }],
    [/finished with nothing where/, json, { finish: "" }],
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
    [/the statistics count 1 calls and 2 came/, json, { figures: cut }],
    [/`content` stands beside calls/, json, { text: "Let me see." }],
    [/a <use_tool> block stands in the text/, json, { text: block("Paris") }],
    [/blocks \(none\) are not the calls/, xml, {}],
    [/blocks \(get_weather Paris\) are not the calls/, xml, { text: block("Paris") }],
    [
      /blocks \(get_weather Zürich & Baden, get_weather Paris\) are not/,
      xml,
      { text: block("Zürich &amp; Baden") + block("Paris") },
    ],
  ];
  it.each(wrongs)("is wrong: %s", (problem, scene, fault) => {
    const problems = problemsIn(scene, { ...good, ...fault }, two);
    expect(problems).toEqual([expect.stringMatching(problem)]);
  });

  it("may be held to a cap", () => {
    expect(problemsIn(json, good, { least: 1, most: 1 })).toEqual([
      "2 calls came where at most 1 may",
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
    expect(problemsIn(xml, broken, two)).toEqual([]);
  });
});

it("a stream and the whole answer beside it have the same calls", () => {
  const answers = [
    { scene: { ...json, stream: true }, seen: { ...good, calls: calls.slice(0, 1) } },
    { scene: json, seen: good },
    { scene: { ...xml, stream: true }, seen: good },
  ];
  expect(disagreements(answers)).toEqual([
    "chat stream openai-json made get_weather and chat whole openai-json get_weather, get_weather",
  ]);
});

it("reads blocks back to what was meant", () => {
  expect(blocksIn(block("A &lt;b&gt; &amp;amp; &quot;c&quot; &apos;d&apos;"))).toEqual([
    { name: "get_weather", city: "A <b> &amp; \"c\" 'd'" },
  ]);
});
