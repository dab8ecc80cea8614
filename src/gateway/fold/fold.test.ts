import { describe, expect, it } from "vitest";
import { responses } from "../../dialects/responses/responses.ts";
import { codexProfile } from "../../profiles/codex.ts";
import { genericChat } from "../../profiles/generic.ts";
import { mistral } from "../../profiles/mistral.ts";
import { openaiResponses } from "../../profiles/openai.ts";
import { planTools } from "../../tools/plan/plan.ts";
import { foldTools, mayFold, strategyFor } from "./fold.ts";
import { amendPlan, askFolded, restoreLog } from "./question.ts";
import { disclosureFor } from "./settings.ts";

const tool = (name: string, more = {}) => ({ type: "function", name, parameters: {}, ...more });
const tools = (count: number, more = {}) =>
  Array.from({ length: count }, (_, at) => tool(`thing${at % 9}_${at}`, more));

const turnWith = (declared: readonly unknown[], more = {}) =>
  responses.door.readRequest({ model: "m", input: "Go.", tools: declared, ...more });

describe("whether tools are folded", () => {
  it("depends under `fit` on what the upstream takes, wherever the tools stand", () => {
    const fit = disclosureFor("fit", "m");
    expect(mayFold(turnWith(tools(128)), [genericChat], fit)).toBe(false);
    expect(mayFold(turnWith(tools(129)), [genericChat], fit)).toBe(true);
    expect(mayFold(turnWith(tools(129)), [openaiResponses], fit)).toBe(false);
    const item = (count: number) => ({
      type: "additional_tools",
      role: "developer",
      tools: tools(count),
    });
    const brought = (count: number) => turnWith([], { input: [item(count)] });
    expect(mayFold(brought(128), [genericChat], fit)).toBe(false);
    expect(foldTools(brought(130), genericChat, fit)?.tools.size).toBe(130);
  });

  it("depends under `auto` on how many there are and how long they are", () => {
    const auto = disclosureFor(
      { mode: "auto", models: {}, tools: 24, bytes: 32_000, rounds: 8 },
      "m",
    );
    expect(foldTools(turnWith(tools(24)), genericChat, auto)).toBeUndefined();
    expect(foldTools(turnWith(tools(27)), genericChat, auto)?.tools.size).toBe(27);
    const long = { description: "A".repeat(4000) };
    expect(foldTools(turnWith(tools(7, long)), genericChat, auto)).toBeUndefined();
    expect(foldTools(turnWith(tools(9, long)), genericChat, auto)?.tools.size).toBe(9);
    expect(foldTools(turnWith(tools(18, long)), genericChat, auto)?.catalog.nodes).toHaveLength(3);
  });

  it("is left to clients that defer themselves where the upstream loads deferred tools", () => {
    const auto = disclosureFor("auto", "m");
    const marked = [...tools(40, { defer_loading: true }), { type: "tool_search" }];
    expect(foldTools(turnWith(marked), openaiResponses, auto)).toBeUndefined();
    const folded = foldTools(turnWith([...marked, tool("own")]), genericChat, auto);
    expect(folded?.tools.size).toBe(40);
    // The search is served by the loader; what the client did not mark stays.
    expect(folded?.direct.map(({ name }) => String(name))).toEqual(["own"]);
  });

  it("follows the header, then the model's name, then the configuration", () => {
    const config = { mode: "auto", models: { m: "wrap" }, tools: 1, bytes: 1, rounds: 1 } as const;
    expect(disclosureFor(config, "x").mode).toBe("auto");
    expect(disclosureFor(config, "m").mode).toBe("wrap");
    expect(disclosureFor(config, "m", "Append").mode).toBe("append");
    expect(() => disclosureFor(config, "m", "warp")).toThrow(/Did you mean `wrap`/);
  });
});

it("picks the strategy by what the upstream can do", () => {
  const by = (mode: "auto" | "native" | "append", profile: typeof codexProfile) =>
    strategyFor(disclosureFor(mode, "m"), profile);
  expect(by("auto", genericChat)).toBe("wrap");
  expect(by("auto", mistral)).toBe("append");
  expect(by("auto", openaiResponses)).toBe("native");
  expect(by("auto", codexProfile)).toBe("wrap");
  expect(by("append", codexProfile)).toBe("wrap");
  expect(by("native", genericChat)).toBe("wrap");
});

it("names the client's path of a tool after a declaration that cannot be read", () => {
  const declared = [...tools(40, { defer_loading: true }), 5, tool("own")];
  const item = { type: "additional_tools", role: "developer", tools: declared };
  const turn = turnWith([], { input: [item] });
  const folded = foldTools(turn, genericChat, disclosureFor("wrap", "m"));
  if (folded === undefined) throw new Error("it is not folded");
  const question = askFolded(turn, folded, restoreLog(turn, folded), true);
  const { verdicts } = amendPlan(planTools(question.turn, genericChat), question);
  expect(verdicts.find(({ name }) => name === "own")?.path).toBe("input[0].tools[41]");
});
