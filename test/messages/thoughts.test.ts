import {
  Agent,
  applyPatchTool,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
  shellTool,
  tool,
} from "@openai/agents";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { answerWithParts } from "../support/fake-gemini.ts";
import { fakeUpstream, type Body, type FakeUpstream } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import {
  strictMessages,
  type SaidBlock,
  type StrictMessages,
} from "../support/strict-messages/upstream.ts";

setTracingDisabled(true);

const thinks = (thinking: string): SaidBlock => ({ type: "thinking", thinking });
const calls = (name: string, input: Body, at: number): SaidBlock => ({
  type: "tool_use",
  id: `toolu_${at}`,
  name,
  input,
});

/** Four turns of a model that thinks in each: before its calls, between them, without a word. */
const turns: readonly (readonly SaidBlock[])[] = [
  [thinks("First."), calls("look", { at: "a" }, 1), thinks("And:"), calls("look", { at: "b" }, 2)],
  [thinks(""), calls("shell", { commands: ["ls"] }, 3)],
  [
    { type: "redacted_thinking" },
    thinks("A change."),
    calls("apply_patch", { operation: { type: "delete_file", path: "a" } }, 4),
  ],
  [thinks("So."), { type: "text", text: "Done." }],
];

async function claude(): Promise<{ upstream: FakeUpstream; strict: StrictMessages }> {
  const strict = strictMessages();
  const upstream = await fakeUpstream(({ body }, index) =>
    strict.answer(body, () => turns[index] ?? [{ type: "text", text: "No more." }]),
  );
  return { upstream, strict };
}

const thoughtsIn = (body: Body | undefined): string[] =>
  ((body?.["messages"] ?? []) as Body[])
    .flatMap(({ content }) => content as Body[])
    .map(({ type }) => String(type))
    .filter((type) => type.includes("thinking"));
const all = ["thinking", "thinking", "thinking", "redacted_thinking", "thinking"];
const model = "claude-opus-5-5";

async function outputOf(runner: Runner, agent: Agent, stream: boolean): Promise<unknown> {
  if (!stream) return (await runner.run(agent, "Do it.")).finalOutput;
  const run = await runner.run(agent, "Do it.", { stream: true });
  await run.completed;
  return run.finalOutput;
}

describe("what Claude thought over four turns", () => {
  it.each([true, false])("comes back from @openai/agents, streamed: %s", async (stream) => {
    const { upstream, strict } = await claude();
    await using _ = upstream;
    await using served = await serve(onto("messages", upstream.url, { profile: "anthropic" }));
    const openAIClient = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "k", maxRetries: 0 });
    const provider = new OpenAIProvider({ openAIClient, useResponses: true });
    const runner = new Runner({ modelProvider: provider, tracingDisabled: true });
    const parameters = {
      type: "object" as const,
      properties: { at: { type: "string" as const } },
      required: ["at" as const],
      additionalProperties: false as const,
    };
    const look = tool({ name: "look", description: "d", parameters, execute: () => "seen" });
    const output = [{ stdout: "a", stderr: "", outcome: { type: "exit" as const, exitCode: 0 } }];
    const shell = shellTool({ shell: { run: () => Promise.resolve({ output }) } });
    const edited = (): Promise<{ status: "completed" }> => Promise.resolve({ status: "completed" });
    const editor = { createFile: edited, updateFile: edited, deleteFile: edited };
    const modelSettings = {
      store: false,
      providerData: { include: ["reasoning.encrypted_content"] },
    };
    const tools = [look, shell, applyPatchTool({ editor })];
    const agent = new Agent({ name: "Guide", model, tools, modelSettings });
    expect(await outputOf(runner, agent, stream)).toBe("Done.");
    expect(strict.refusals).toEqual([]);
    expect(thoughtsIn(upstream.requests[3]?.body)).toEqual(all);
  });

  it("comes back from openai, with the items given back as they are", async () => {
    const { upstream, strict } = await claude();
    await using _ = upstream;
    await using served = await serve(onto("messages", upstream.url, { profile: "anthropic" }));
    const { responses } = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "k", maxRetries: 0 });
    const input: Body[] = [{ role: "user", content: "Do it." }];
    let said = "";
    while (said === "") {
      const response = await responses.create({
        model,
        store: false,
        include: ["reasoning.encrypted_content"],
        input: input as OpenAI.Responses.ResponseInput,
        tools: [
          { type: "function", name: "look", parameters: { type: "object" }, strict: false },
          { type: "shell", environment: { type: "local" } },
          { type: "apply_patch" },
        ],
      });
      input.push(...(response.output as Body[]));
      for (const item of response.output as Body[]) {
        const { type, call_id } = item;
        if (type === "function_call")
          input.push({ type: `${type}_output`, call_id, output: "seen" });
        if (type === "apply_patch_call")
          input.push({ type: `${type}_output`, call_id, status: "completed" });
        if (type === "shell_call") {
          const outcome = { type: "exit", exit_code: 0 };
          input.push({
            type: `${type}_output`,
            call_id,
            output: [{ stdout: "a", stderr: "", outcome }],
          });
        }
      }
      said = response.output_text;
    }
    expect(said).toBe("Done.");
    expect(strict.refusals).toEqual([]);
    expect(thoughtsIn(upstream.requests[3]?.body)).toEqual(all);
  });
});

// Gemini signs its last text. Claude Code shows nothing of an answer that ends with reasoning.
it.each([true, false])("a signature is not the end of an answer, streamed: %s", async (stream) => {
  const parts = [
    { text: "Hm.", thought: true },
    { text: "Done.", thoughtSignature: "c2lnbmVk" },
  ];
  await using upstream = await fakeUpstream(({ path }) => answerWithParts(path, { parts }));
  await using served = await serve(onto("gemini", upstream.url));
  const { messages } = new Anthropic({ baseURL: served.url, apiKey: "k", maxRetries: 0 });
  const request = {
    model: "gemini-3.5-flash",
    max_tokens: 9000,
    messages: [{ role: "user" as const, content: "Hi" }],
  };
  const { content } = stream
    ? await messages.stream(request).finalMessage()
    : await messages.create(request);
  expect(content.map(({ type }) => type)).toEqual(["thinking", "text"]);
});
