import { describe, expect, it } from "vitest";
import { anthropic } from "../../profiles/anthropic.ts";
import { genericMessages } from "../../profiles/generic.ts";
import { modelProfile } from "../../profiles/models.ts";
import { planTools } from "../../tools/plan/plan.ts";
import type { Fields } from "../../turn/turn.ts";
import { chat } from "../chat/chat.ts";
import { BodyReader } from "../shared/body.ts";
import { readRequest } from "./read-request.ts";
import { writeRequest } from "./write-request.ts";

/** What a model of Anthropic's is sent for a chat request, and what was decided. */
function sent(body: Fields, model = "claude-opus-4-6") {
  const profile = modelProfile(anthropic, model);
  const turn = chat.door.readRequest({
    model,
    messages: [{ role: "user", content: "Hi" }],
    ...body,
  });
  const plan = planTools(turn, profile, { origin: `up/${model}` });
  const { text, decisions } = writeRequest(plan.turn, { profile, model, straight: false });
  const actions = [...plan.decisions, ...decisions].map(({ path, action }) => `${path} ${action}`);
  return { body: JSON.parse(text) as Fields, actions };
}

const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });

describe("a request to a Messages upstream", () => {
  it("has the instructions apart, a limit and a mark for the cache", () => {
    const { body } = sent({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hi" },
      ],
    });
    expect(body).toEqual({
      model: "claude-opus-4-6",
      max_tokens: 128_000,
      stream: true,
      system: [{ type: "text", text: "Be brief." }],
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      cache_control: { type: "ephemeral" },
    });
  });

  it("has roles in turn, results first and together, and nothing empty", () => {
    const { body } = sent({
      messages: [
        { role: "assistant", content: "Hello" },
        { role: "user", content: "a" },
        { role: "user", content: "b" },
        { role: "assistant", content: "", tool_calls: [call("x.1"), call("x:1")] },
        { role: "tool", tool_call_id: "x:1", content: "" },
        { role: "tool", tool_call_id: "x.1", content: "1" },
        { role: "user", content: "c" },
      ],
    });
    const messages = body["messages"] as { role: string; content: Fields[] }[];
    expect(messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
    ]);
    expect(messages[3]?.content.map(({ type }) => type)).toEqual(["tool_use", "tool_use"]);
    const given = messages[3]?.content.map(({ id }) => id);
    expect(new Set(given).size).toBe(2);
    expect(given?.every((id) => /^[\w-]+$/.test(String(id)))).toBe(true);
    expect(messages[4]?.content).toEqual([
      { type: "tool_result", tool_use_id: given?.[0], content: "1" },
      { type: "tool_result", tool_use_id: given?.[1], content: "(no output)" },
      { type: "text", text: "c" },
    ]);
  });

  it("puts a late system message among the user's words where the model takes none there", () => {
    const messages = [
      { role: "user", content: "Hi" },
      { role: "system", content: "Be quick." },
    ];
    const late = sent({ messages }, "claude-opus-4-8").body["messages"];
    expect(late).toEqual([
      { role: "user", content: [{ type: "text", text: "Hi" }] },
      { role: "system", content: [{ type: "text", text: "Be quick." }] },
    ]);
    expect(sent({ messages }, "claude-sonnet-5").body["messages"]).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "text", text: "<system-reminder>\nBe quick.\n</system-reminder>" },
        ],
      },
    ]);
  });

  it.each([
    ["claude-opus-4-6", "high", { thinking: { type: "adaptive", display: "summarized" } }],
    [
      "claude-sonnet-4-5",
      "low",
      { thinking: { budget_tokens: 4096, display: "summarized", type: "enabled" } },
    ],
    ["claude-opus-4-6", "none", { thinking: { type: "disabled" } }],
  ])("tells %s the effort %s in a form it takes", (model, effort, wanted) => {
    expect(sent({ reasoning_effort: effort }, model).body).toMatchObject(wanted);
  });

  it("tells a model that always thinks to do so little", () => {
    const { body, actions } = sent({ reasoning_effort: "none" }, "claude-fable-5");
    expect(body).toMatchObject({ output_config: { effort: "low" } });
    expect(body).not.toHaveProperty("thinking");
    expect(actions).toContain("reasoning_effort changed");
  });

  it("leaves sampling out where the model takes none, and keeps it within its limits", () => {
    expect(sent({ temperature: 0.5 }, "claude-opus-5").body).not.toHaveProperty("temperature");
    expect(sent({ temperature: 1.5 }).body).toMatchObject({ temperature: 1 });
    const both = sent({ temperature: 0.5, top_p: 0.5 }, "claude-haiku-4-5");
    expect(both.body).not.toHaveProperty("top_p");
    expect(both.actions).toContain("top_p dropped");
  });

  it.each([
    ["default", "standard_only", []],
    ["auto", "auto", []],
    ["flex", undefined, ["service_tier dropped"]],
  ])("asks for the tier %s as %s", (service_tier, written, reported) => {
    const { body, actions } = sent({ service_tier });
    expect(body["service_tier"]).toBe(written);
    expect(actions).toEqual(reported);
  });

  it("does not force a call of a model that thinks", () => {
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
    const asked = { tools, tool_choice: "required", parallel_tool_calls: false };
    expect(sent(asked).body["tool_choice"]).toEqual({
      type: "any",
      disable_parallel_tool_use: true,
    });
    const thinking = sent({ ...asked, reasoning_effort: "high" });
    expect(thinking.body["tool_choice"]).toEqual({ type: "auto", disable_parallel_tool_use: true });
    expect(thinking.actions).toContain("tool_choice changed");
    expect(sent(asked, "claude-opus-5-5").body["tool_choice"]).toMatchObject({ type: "auto" });
  });

  it("sends only thoughts that were signed, and to lenient servers the others too", () => {
    const messages = [
      { role: "user", content: "Hi" },
      { role: "assistant", reasoning_content: "Hm", content: "Yes" },
      { role: "user", content: "And?" },
    ];
    const { body, actions } = sent({ messages });
    expect(JSON.stringify(body)).not.toContain("Hm");
    expect(actions).toContain("messages[1] dropped");
    const turn = chat.door.readRequest({ model: "m", messages });
    const { text } = writeRequest(planTools(turn, genericMessages).turn, {
      profile: genericMessages,
      model: "m",
      straight: false,
    });
    expect(text).toContain('{"type":"thinking","thinking":"Hm"}');
  });

  it("is the client's own, with its versions and betas, in the straight lane", () => {
    const body = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hi" }], odd: 1 };
    const headers = { "anthropic-beta": ["a", "b"], "anthropic-version": "2026-10-21", other: "x" };
    const turn = readRequest(body, {}, headers);
    const plan = planTools(turn, modelProfile(anthropic, "claude-opus-5"));
    expect(plan.identical).toBe(true);
    const to = { profile: anthropic, model: "claude-opus-5", straight: true };
    expect(writeRequest(plan.turn, to)).toEqual({
      text: JSON.stringify({ ...body, model: "claude-opus-5", tools: undefined }),
      decisions: [],
      headers: { "anthropic-beta": "a,b", "anthropic-version": "2026-10-21" },
    });
  });

  it("is the client's own text in the straight lane, but for the model", () => {
    const text =
      '{ "model":"m", "max_tokens":9, "x": 12345678901234567890, "messages":[{"role":"user","content":"\\u00e9"}] }';
    const plan = planTools(
      readRequest(new BodyReader().read(text)),
      modelProfile(anthropic, "claude-opus-5"),
    );
    const to = { profile: anthropic, model: "claude-opus-5", straight: true };
    expect(writeRequest(plan.turn, to).text).toBe(text.replace('"m"', '"claude-opus-5"'));
  });

  it("begins with what the turn before was, byte for byte", () => {
    const messages: Fields[] = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi" },
    ];
    let before = "";
    for (let turn = 0; turn < 10; turn++) {
      const now = JSON.stringify(sent({ messages }).body["messages"]).slice(0, -1);
      expect(now.startsWith(before)).toBe(true);
      before = now;
      messages.push({ role: "assistant", content: `t${turn}`, tool_calls: [call(`c${turn}.x`)] });
      messages.push({ role: "tool", tool_call_id: `c${turn}.x`, content: `r${turn}` });
    }
  });
});
