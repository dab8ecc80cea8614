import { describe, expect, it } from "vitest";
import { sending, sent } from "../../test/support/profile-requests.ts";
import { isLossy } from "../turn/decision.ts";
import type { Fields } from "../turn/turn.ts";
import { profiles } from "./profiles.ts";

/** How a body says an effort, whatever the field. */
function thinkingOf(body: Fields): Fields {
  const { reasoning_effort, thinking, enable_thinking, reasoning } = body;
  const said = { reasoning_effort, thinking, enable_thinking, reasoning };
  return JSON.parse(JSON.stringify(said)) as Fields;
}
const effort = (name: string, model: string, level: string) => {
  const { body, decisions } = sending(name, { reasoning: { effort: level } }, model);
  const changed = decisions.some((decision) => decision.path === "reasoning.effort");
  return { ...thinkingOf(body), ...(changed ? { changed } : {}) };
};
const spoken = [...profiles.values()].filter(
  ({ dialect }) => dialect === "chat" || dialect === "responses",
);
const on = { thinking: { type: "enabled" } };
const off = { thinking: { type: "disabled" } };
const glm = { thinking: { type: "enabled", clear_thinking: false } };
const kept = { thinking: { type: "enabled", keep: "all" } };
const changed = true;

describe("an effort", () => {
  it.each([
    ["deepseek", "deepseek-v4-pro", "none", off],
    ["deepseek", "deepseek-v4-pro", "minimal", { ...on, reasoning_effort: "low" }],
    ["deepseek", "deepseek-v4-pro", "low", { ...on, reasoning_effort: "low" }],
    ["deepseek", "deepseek-v4-pro", "medium", { ...on, reasoning_effort: "high" }],
    ["deepseek", "deepseek-v4-pro", "high", { ...on, reasoning_effort: "high" }],
    ["deepseek", "deepseek-v4-pro", "xhigh", { ...on, reasoning_effort: "high", changed }],
    ["deepseek", "deepseek-v4-pro", "max", { ...on, reasoning_effort: "max" }],
    ["zhipu", "glm-5.2", "none", off],
    ["zhipu", "glm-5.2", "medium", { ...glm, reasoning_effort: "medium" }],
    ["zhipu", "glm-5.3", "none", { ...glm, reasoning_effort: "low", changed }],
    ["zhipu", "glm-5.3", "xhigh", { ...glm, reasoning_effort: "max" }],
    ["zhipu", "glm-5", "none", off],
    ["zhipu", "glm-4.7", "high", glm],
    ["zhipu", "glm-4.7", "low", { ...glm, changed }],
    ["minimax", "MiniMax-M3", "none", off],
    ["minimax", "MiniMax-M3", "medium", { thinking: { type: "adaptive" } }],
    ["minimax", "MiniMax-M2.7", "none", { thinking: { type: "adaptive" }, changed }],
    ["mimo", "mimo-v2.5-pro", "none", off],
    ["mimo", "mimo-v2.5-pro", "high", on],
    ["mimo", "mimo-v2.5-pro", "minimal", { ...on, changed }],
    ["moonshot", "kimi-k3", "none", { reasoning_effort: "low", changed }],
    ["moonshot", "kimi-k3", "high", { reasoning_effort: "high" }],
    ["moonshot", "kimi-k3", "max", { reasoning_effort: "max" }],
    ["moonshot", "kimi-k2.7-code", "medium", {}],
    ["moonshot", "kimi-k2.7-code", "none", { changed }],
    ["moonshot", "kimi-k2.6", "none", off],
    ["moonshot", "kimi-k2.6", "high", kept],
    ["moonshot", "kimi-k2.5", "low", { ...on, changed }],
    ["qwen", "qwen3.7-plus", "none", { enable_thinking: false }],
    ["qwen", "qwen3.7-plus", "high", { enable_thinking: true }],
    ["qwen", "qwq-plus", "none", { enable_thinking: true, changed }],
    ["groq", "openai/gpt-oss-120b", "minimal", { reasoning_effort: "low" }],
    ["groq", "openai/gpt-oss-120b", "none", { reasoning_effort: "low", changed }],
    ["groq", "qwen/qwen3-32b", "none", { reasoning_effort: "none" }],
    ["groq", "qwen/qwen3-32b", "high", { reasoning_effort: "default" }],
    ["groq", "qwen/qwen3-32b", "low", { reasoning_effort: "default", changed }],
    ["groq", "llama-3.3-70b-versatile", "high", { changed }],
    ["xai", "grok-4.3", "none", { reasoning_effort: "none" }],
    ["xai", "grok-4.5", "none", { reasoning_effort: "low", changed }],
    ["xai", "grok-4.20-reasoning", "minimal", { changed }],
    ["xai-responses", "grok-4.3", "xhigh", { reasoning: { effort: "high" }, changed }],
    ["gemini-chat", "gemini-3.5-flash", "none", { reasoning_effort: "low", changed }],
    ["gemini-chat", "gemini-2.5-flash", "none", { reasoning_effort: "none" }],
    ["gemini-chat", "gemini-2.5-flash", "minimal", { reasoning_effort: "low" }],
    ["mistral", "mistral-large-latest", "high", { changed }],
    ["mistral", "mistral-small-latest", "medium", { reasoning_effort: "high" }],
    ["mistral", "mistral-small-latest", "none", { reasoning_effort: "none" }],
    ["ollama", "gpt-oss", "xhigh", { reasoning_effort: "max" }],
    ["openai", "gpt-5.2", "xhigh", { reasoning_effort: "xhigh" }],
    ["openai-responses", "gpt-6", "ultra", { reasoning: { effort: "ultra" } }],
    ["openrouter", "z-ai/glm-5.3", "none", { reasoning_effort: "none" }],
    ["vllm", "any", "max", { reasoning_effort: "max" }],
    ["generic-chat", "any", "minimal", { reasoning_effort: "minimal" }],
  ])("on %s with %s, %s, is told as %j", (name, model, level, expected) => {
    expect(effort(name, model, level)).toEqual(expected);
  });

  it.each(spoken)("on $name that asks to think never stops it from thinking", (profile) => {
    for (const level of ["minimal", "low", "medium", "high", "xhigh"])
      for (const { match } of [{ match: "m" }, ...(profile.models ?? [])]) {
        const model = [match].flat()[0]?.replaceAll("*", "x") ?? "m";
        const text = JSON.stringify(effort(profile.name, model, level));
        expect(text, `${level} on ${model}`).not.toMatch(/disabled|"enable_thinking":false|"none"/);
      }
  });

  it("that is not asked for is not told", () => {
    for (const name of ["deepseek", "mimo", "minimax", "qwen", "gemini-chat", "groq", "xai"])
      expect({ name, ...thinkingOf(sent(name, {})) }).toEqual({ name });
  });
});

describe("what every request must say", () => {
  const chat = { messages: [{ role: "user", content: "Hi" }] };

  it.each([
    ["minimax", "MiniMax-M3", { reasoning_split: true }],
    ["zhipu", "glm-5.2", { tool_stream: true, ...glm }],
    ["moonshot", "kimi-k2.6", kept],
  ])("is said to %s, of either door", (name, model, fields) => {
    expect(sent(name, {}, model)).toMatchObject(fields);
    const { body, straight, decisions } = sending(name, chat, model);
    expect(body).toMatchObject(fields);
    expect(straight).toBe(true);
    expect(decisions).toEqual([]);
    const [key = ""] = Object.keys(fields);
    expect(sent(name, { ...chat, [key]: "mine" }, model)[key]).toBe("mine");
  });

  it("is not said to models that do not know it", () => {
    expect(sent("zhipu", {}, "glm-4.5-air")).not.toHaveProperty("tool_stream");
    expect(thinkingOf(sent("moonshot", {}, "kimi-k3"))).toEqual({});
  });
});

describe("a model", () => {
  const image = { type: "input_image", image_url: "data:image/png;base64,AA" };
  const input = [{ type: "message", role: "user", content: [image] }];

  it.each([
    ["deepseek", "deepseek-flash", "deepseek-v4-pro"],
    ["zhipu", "glm-5v-turbo", "glm-5.2"],
    ["zhipu", "GLM-4.6V", "glm-4.7"],
    ["mimo", "mimo-v2.5", "mimo-v2.5-pro"],
    ["minimax", "MiniMax-M3", "MiniMax-M2.5"],
    ["qwen", "qwen3-vl-plus", "qwen3.7-max"],
    ["qwen", "qwen3.6-plus", "qwen-plus"],
    ["groq", "meta-llama/llama-4-scout-17b-16e-instruct", "openai/gpt-oss-120b"],
  ])("of %s sees images if it is %s and not if it is %s", (name, seeing, blind) => {
    const seen = sending(name, { input }, seeing);
    expect(JSON.stringify(seen.body)).toContain("image_url");
    expect(seen.decisions.filter(isLossy)).toEqual([]);
    const { body, decisions } = sending(name, { input }, blind);
    expect(JSON.stringify(body)).not.toContain("image_url");
    expect(decisions).toMatchObject([{ path: "input[0]", action: "dropped" }]);
  });

  it.each([
    ["moonshot", "kimi-k3", "required"],
    ["moonshot", "kimi-k2.6", "auto"],
    ["qwen", "qwen3-coder-plus", "required"],
    ["qwen", "qwen3.7-plus", "auto"],
  ])("of %s that is %s is asked for tools as %s", (name, model, choice) => {
    const tools = [{ type: "function", name: "f", parameters: { type: "object" } }];
    expect(sent(name, { tools, tool_choice: "required" }, model).tool_choice).toBe(choice);
  });
});

describe("a conversation", () => {
  const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
  const called = (more: Fields = {}): Fields => ({
    messages: [
      { role: "user", content: "Hi", name: "ann" },
      { role: "assistant", content: null, tool_calls: [call], ...more },
      { role: "tool", tool_call_id: "c1", content: "1" },
    ],
    tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
  });

  it.each([
    ["deepseek", ""],
    ["moonshot", " "],
    ["mimo", " "],
  ])("on %s has %j for reasoning before calls where there is none", (name, blank) => {
    const { body, decisions } = sending(name, called());
    expect(body.messages[1]).toMatchObject({ reasoning_content: blank });
    expect(decisions).toMatchObject([{ path: "messages[1]", action: "repaired" }]);
    const known = sending(name, called({ reasoning_content: "hm" }));
    expect(known.body.messages[1]).toMatchObject({ reasoning_content: "hm" });
    expect(known.decisions).toEqual([]);
  });

  it("is left alone where the client has seen to that itself", () => {
    const { body, straight } = sending("deepseek", called({ reasoning_content: "" }));
    expect(body.messages[1]).toMatchObject({ reasoning_content: "" });
    expect(straight).toBe(true);
    const generic = sending("generic-chat", {
      ...called({ reasoning_content: "" }),
      max_completion_tokens: 9,
    });
    expect(generic.straight).toBe(false);
    expect(generic.body.messages[1]).toMatchObject({ reasoning_content: "" });
  });

  it("on Gemini has the name of the tool with every result", () => {
    const { body, decisions } = sending("gemini-chat", called());
    expect(body.messages[2]).toEqual({ role: "tool", tool_call_id: "c1", name: "f", content: "1" });
    expect(decisions).toEqual([]);
    expect(sent("openai", called()).messages[2]).not.toHaveProperty("name");
  });

  it.each(["mistral", "zhipu"])("on %s says nobody's name, openly", (name) => {
    const { body, decisions } = sending(name, called());
    expect(body.messages[0]).toEqual({ role: "user", content: "Hi" });
    expect(decisions).toContainEqual({
      path: "messages[0]",
      action: "dropped",
      reason: "the upstream does not support `name` on messages",
    });
    expect(sent("openai", called()).messages[0]).toMatchObject({ name: "ann" });
  });
});
