import { describe, expect, it, onTestFinished } from "vitest";
import { answerInChat, type FakeAnswer } from "../../test/support/fake-model.ts";
import { fakeUpstream, json, type Answer, type Body } from "../../test/support/fake-upstream.ts";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { newId } from "../../src/host/platform/ids.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { systemClock } from "../../src/host/platform/clock.ts";
import { remedyFor, leftInText } from "./questions.ts";
import { planProbe, runProbe } from "./probe.ts";

type Say = (body: Body) => FakeAnswer | Answer;

const call = (at: number, name = "get_weather") => ({
  id: `call_${at}`,
  name,
  arguments: name === "run_command" ? "ls -l /tmp" : '{"city":"Paris"}',
});

/** A model that does whatever it is asked for. */
function able(body: Body): FakeAnswer {
  const last = body["messages"].at(-1);
  if (body["response_format"]?.type === "json_schema")
    return { text: '{"city":"Paris","letters":5}' };
  if (last.role === "tool") return { text: `It is ${String(last.content)}.` };
  const choice = body["tool_choice"];
  if (body["tools"] === undefined || choice === "none") return { text: "Hello." };
  if (choice?.type === "function") return { calls: [call(1, choice.function.name)] };
  const twice = /Zürich/.test(last.content);
  return { calls: twice ? [call(1), call(2)] : [call(1)] };
}

async function probed(say: Say, more: object = {}) {
  const fake = await fakeUpstream(({ body }) => {
    const said = say(body);
    return "steps" in said ? said : answerInChat(body, said);
  });
  onTestFinished(() => fake[Symbol.asyncDispose]());
  const upstream = { dialect: "chat", base_url: fake.url, api_key: "canary-123456", ...more };
  const config = parseConfig({ upstreams: { it: upstream }, models: { gpt: "it/m" } });
  const gateway = openGateway(config, nodePlatform());
  onTestFinished(() => gateway.close(0));
  const probe = await runProbe(gateway.examined(), "gpt", { clock: systemClock, newId });
  expect(JSON.stringify(probe)).not.toContain("canary");
  expect(fake.requests.length).toBeLessThanOrEqual(
    (await planProbe(gateway.examined(), "gpt", systemClock)).requests,
  );
  const outcomes = Object.fromEntries(probe.checks.map(({ id, outcome }) => [id, outcome]));
  return { ...probe, outcomes, asked: fake.requests };
}

const refusal = (message: string): Answer => json({ error: { message } }, 400);

describe("a probe", () => {
  it("finds nothing to change where a model does what its profile says", async () => {
    const { outcomes, capabilities, asked } = await probed((body) =>
      body["tools"]?.[0]?.type === "custom" ? refusal("no custom tools here") : able(body),
    );
    expect(outcomes).toEqual({
      "probe.one_call": "ok",
      "probe.two_calls": "ok",
      "probe.required": "ok",
      "probe.named": "ok",
      "probe.none": "ok",
      // The profile says so too.
      "probe.custom_tool": "note",
      "probe.result": "ok",
      "probe.schema": "ok",
      "probe.usage": "ok",
    });
    expect(capabilities).toEqual({});
    expect(asked).toHaveLength(9);
  });

  it("finds what a profile says too much of, by refusals and by what is ignored", async () => {
    const { outcomes, capabilities } = await probed((body) => {
      if (body["tool_choice"] === "required") return refusal("tool_choice must be auto");
      if (body["response_format"] !== undefined) return { text: "Five letters." };
      if (body["tools"]?.[0]?.type === "custom") return refusal("only functions");
      if (body["tool_choice"] === "none") return { calls: [call(1)] };
      return able(body);
    });
    expect(outcomes).toMatchObject({
      "probe.required": "wrong",
      "probe.none": "wrong",
      "probe.schema": "wrong",
    });
    expect(capabilities).toEqual({
      tools: { choice: ["auto", "function"] },
      formats: ["text", "json"],
    });
  });

  it("finds what a profile says too little of", async () => {
    const capabilities = { tools: { parallel: false, choice: ["auto"] }, streamUsage: false };
    const found = await probed(able, { capabilities });
    expect(found.capabilities).toMatchObject({
      tools: { parallel: true, choice: ["auto", "none", "required", "function"] },
      streamUsage: true,
    });
  });

  it("concludes nothing from a limit that was hit or a service that failed", async () => {
    let count = 0;
    const { outcomes, capabilities } = await probed((body) =>
      ++count > 1 ? json({ error: { message: "slow down" } }, 429) : able(body),
    );
    const { "probe.one_call": first, ...others } = outcomes;
    expect(first).toBe("ok");
    expect(new Set(Object.values(others))).toEqual(new Set(["unknown"]));
    expect(capabilities).toEqual({});
  });

  it("says whose fault it is where no call is made at all, and asks nothing more", async () => {
    const dead = await probed(() => json({ error: { message: "bad key" } }, 401));
    expect(dead.checks[0]).toMatchObject({ outcome: "wrong", remedy: "Check its `api_key`." });
    const talks = await probed(() => ({ text: "I cannot know the weather." }));
    expect(talks.outcomes["probe.one_call"]).toBe("unknown");
    for (const { asked, outcomes } of [dead, talks]) {
      expect(asked).toHaveLength(1);
      expect(outcomes["probe.usage"]).toBe("unknown");
    }
  });

  it("tells a call that came back as text, and the setting that would have read it", async () => {
    const text =
      '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>';
    const { checks } = await probed(() => ({ text }), { profile: "vllm" });
    expect(checks[0]).toMatchObject({
      id: "probe.one_call",
      outcome: "wrong",
      remedy: "Start vLLM with --enable-auto-tool-choice --tool-call-parser hermes",
    });
    expect(checks[0]?.evidence).toContain("the call came as text");
  });

  it("has the gateway read blocks that it knows", async () => {
    const text = "<use_tool><name>get_weather</name><city>Paris</city></use_tool>";
    const { capabilities, checks } = await probed(() => ({ text }));
    expect(capabilities).toEqual({ tools: { written: true } });
    expect(checks[0]?.remedy).toContain("written: true");
  });
});

describe("the model to probe", () => {
  const planned = (models: Record<string, string>, name?: string) => {
    const gateway = openGateway(
      parseConfig({ upstreams: { it: { dialect: "scripted" } }, models }),
      nodePlatform(),
    );
    onTestFinished(() => gateway.close(0));
    return planProbe(gateway.examined(), name, systemClock);
  };

  it("is the first that has a name, unless one is named", async () => {
    expect(await planned({ "*": "it/x", gpt: "it/y" })).toEqual({
      upstream: "it",
      model: "y",
      requests: 9,
    });
    expect(await planned({ gpt: "it/y" }, "it/z")).toMatchObject({ model: "z" });
    expect(await planned({ "*": "it/x" })).toMatchObject({ model: "x" });
    expect(await planned({ "*": "it/*" })).toMatchObject({ model: "demo" });
  });

  it("must be one that there is", async () => {
    await expect(planned({ gpt: "it/y" }, "no")).rejects.toThrow("There is no model `no` here.");
  });
});

describe("a call left in text", () => {
  it.each([
    ['<tool_call>{"name":"f"}</tool_call>', "hermes"],
    ["<tool_call><function=f><parameter=a>1</parameter></function></tool_call>", "qwen3_coder"],
    ["<tool_call>f\n<arg_key>a</arg_key>", "glm45"],
    ['[TOOL_CALLS][{"name":"f"}]', "mistral"],
    ['<|python_tag|>{"name":"f"}', "llama3_json"],
    ['{"name": "f", "parameters": {}}', "llama3_json"],
    ['```json\n[{"function": {"name": "f"}}]\n```', "llama3_json"],
    ["[f(a=1)]", "pythonic"],
    ["<|tool_calls_section_begin|>", "kimi_k2"],
    ["<｜tool▁calls▁begin｜>", "deepseek_v3"],
  ])("%s is read by %s", (text, parser) => {
    const left = leftInText(text, "f");
    if (left === undefined) throw new Error("it was not seen");
    expect(remedyFor(left, "vllm")).toContain(`--tool-call-parser ${parser}`);
    expect(remedyFor(left, "generic-chat")).toContain("SGLang");
  });

  it.each(["I would call f for that.", "{}", '{"name":"g"}', "f(1) is a call", ""])(
    "%s is none",
    (text) => expect(leftInText(text, "f")).toBeUndefined(),
  );
});
