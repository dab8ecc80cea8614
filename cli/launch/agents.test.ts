import { isAbsolute } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentTarget } from "./agent.ts";
import { agents, findAgent } from "./agents.ts";
import { catalogWith } from "./codex.ts";

const to: AgentTarget = {
  url: "http://127.0.0.1:4711",
  key: "canary-key",
  model: "large-model",
  small: "small-model",
  models: ["large-model", "small-model", "other"],
  context: 128_000,
  folder: "/private/folder",
  env: { HOME: "/nowhere" },
  directory: "/nowhere/work",
  args: [],
};
const bundled = JSON.stringify({
  models: [
    { slug: "a", use_responses_lite: true, base_instructions: "A" },
    { slug: "b", use_responses_lite: false, base_instructions: "B", tool_mode: null },
  ],
});

describe.each(agents)("$name", (agent) => {
  const pointed = () => agent.point(to, () => Promise.resolve(bundled));

  it("is sent to the gateway and its model, by its own means", async () => {
    const all = JSON.stringify(await pointed());
    expect(all).toContain("127.0.0.1:4711");
    expect(all).toContain("large-model");
    expect(all).toContain("canary-key");
  });

  it("has no key on its command line", async () => {
    const { args = [] } = await pointed();
    expect(args.join(" ")).not.toContain("canary-key");
  });

  it("is given files in the folder of the launch alone", async () => {
    const { files = {}, args = [], env = {} } = await pointed();
    for (const name of Object.keys(files)) {
      expect(isAbsolute(name) || name.includes("..")).toBe(false);
      const folders = [...args, ...Object.values(env)].join(" ");
      expect(folders).toContain("/private/folder");
    }
  });

  it("is found by its name and its command", () => {
    for (const name of [agent.name, agent.name.toUpperCase(), ...agent.commands])
      expect(findAgent(name)).toBe(agent);
  });
});

it("names the agents there are, and the one that was meant", () => {
  expect(() => findAgent("codx")).toThrow(/the agents are codex, claude, .*Did you mean `codex`\?/);
});

it("knows of agents that cannot be launched, and why", () => {
  expect(() => findAgent("amp")).toThrow("its own server calls the models");
});

describe("the catalog for Codex", () => {
  it("has our models before its own, each with an own name and the prompt of a plain one", () => {
    const { models } = JSON.parse(catalogWith(bundled, ["m", "a"], 1000) ?? "") as {
      models: Record<string, unknown>[];
    };
    expect(models.map(({ slug }) => slug)).toEqual(["m", "a", "b"]);
    expect(models[0]).toMatchObject({
      display_name: "m",
      base_instructions: "B",
      context_window: 1000,
      tool_mode: "direct",
      use_responses_lite: false,
    });
  });

  it("is left out where this Codex has none to go by", () => {
    for (const text of ["", "{}", '{"models":[]}', "Usage: codex"])
      expect(catalogWith(text, ["m"], 1000)).toBeUndefined();
  });
});
