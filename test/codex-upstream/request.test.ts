import { describe, expect, it } from "vitest";
import { answerInResponses, wantedCalls } from "../support/fake-model.ts";
import type { Body } from "../support/fake-upstream.ts";
import { missing, type CodexGateway, sharedCodex } from "./gateway.ts";

const codexWith = sharedCodex();

const pixel =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const look = { type: "function", name: "look", description: "Looks.", strict: false } as const;

const without = (body: Body, ...keys: string[]): Body =>
  Object.fromEntries(Object.entries(body).filter(([key]) => !keys.includes(key)));

/** What the model behind Codex was told, without the ids that Codex gives to items. */
function heardBy({ model }: CodexGateway, at = 0): Body {
  const { input, ...rest } = model.requests[at]?.body ?? {};
  return { ...rest, input: (input as Body[]).map((item) => without(item, "id")) };
}

describe.skipIf(missing)("what the model behind the real codex app-server is told", () => {
  it("is the client's conversation and tools, and nothing else", async () => {
    const gateway = await codexWith(({ body }) => answerInResponses(body, { text: "Hello." }));
    const parameters = {
      type: "object",
      properties: { at: { type: "string" } },
      required: ["at"],
      additionalProperties: false,
    };
    const answer = await gateway.client.responses.create({
      model: "some-model",
      instructions: "Be brief.",
      input: [
        { role: "user", content: "Look twice." },
        {
          type: "function_call",
          call_id: "call_1",
          name: "look",
          arguments: '{"at": "a", "n": 1.0}',
        },
        { type: "function_call", call_id: "call_2", name: "look", arguments: '{"at":"b"}' },
        { type: "function_call_output", call_id: "call_1", output: "a tree" },
        { type: "function_call_output", call_id: "call_2", output: "a gateway" },
        { role: "assistant", content: "A tree and a gateway." },
        { role: "system", content: "Now in French." },
        {
          role: "user",
          content: [
            { type: "input_text", text: "And this?" },
            { type: "input_image", image_url: pixel, detail: "high" },
          ],
        },
      ],
      tools: [{ ...look, parameters }],
      reasoning: { effort: "high", summary: "auto" },
      text: { verbosity: "low" },
    });
    expect(answer.output_text).toBe("Hello.");
    const body = without(heardBy(gateway), "client_metadata", "prompt_cache_key");
    const message = (role: string, type: string, text: string): Body => ({
      type: "message",
      role,
      content: [{ type, text }],
    });
    expect(body).toEqual({
      model: "some-model",
      stream: true,
      input: [
        message("developer", "input_text", "Be brief."),
        message("user", "input_text", "Look twice."),
        {
          type: "function_call",
          call_id: "call_1",
          name: "look",
          arguments: '{"at": "a", "n": 1.0}',
        },
        { type: "function_call", call_id: "call_2", name: "look", arguments: '{"at":"b"}' },
        { type: "function_call_output", call_id: "call_1", output: "a tree" },
        { type: "function_call_output", call_id: "call_2", output: "a gateway" },
        message("assistant", "output_text", "A tree and a gateway."),
        message("developer", "input_text", "Now in French."),
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "And this?" },
            { type: "input_image", image_url: pixel, detail: "high" },
          ],
        },
      ],
      tools: [{ ...look, parameters }],
      tool_choice: "auto",
      parallel_tool_calls: true,
      reasoning: { effort: "high", summary: "auto" },
      text: { verbosity: "low" },
      store: false,
      include: ["reasoning.encrypted_content"],
    });
    expect(gateway.model.requests[0]?.headers.authorization).toBe("Bearer sk-behind");
  });

  it("has the effort of the model's name, the format, and what must be called in words", async () => {
    const gateway = await codexWith(({ body }) => answerInResponses(body, { calls: wantedCalls }));
    const schema = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    };
    const parameters = { type: "object", properties: {} };
    const tools = ["mcp__a", "exec_command", "get_time"].map((name) => ({
      type: "function" as const,
      function: { name, parameters },
    }));
    await gateway.client.chat.completions.create({
      model: "some-model-XH",
      messages: [{ role: "user", content: "Hi" }],
      tools,
      tool_choice: "required",
      response_format: { type: "json_schema", json_schema: { name: "a", schema, strict: true } },
    });
    const body = heardBy(gateway);
    expect(body["model"]).toBe("some-model");
    expect(body["reasoning"]).toEqual({ effort: "xhigh" });
    expect(body["text"]).toMatchObject({ format: { type: "json_schema", schema } });
    expect(JSON.stringify(body["input"])).toContain("calling at least one of the tools");
    // All three arrive, under names that Codex neither refuses nor keeps for itself.
    const names = (body["tools"] as Body[]).map((tool) => tool["name"] as string);
    expect(names).toHaveLength(3);
    expect(names).toContain("get_time");
    expect(names).not.toContain("exec_command");
  });

  it("is no format that Codex would make stricter than the client wants it", async () => {
    const gateway = await codexWith(({ body }) => answerInResponses(body, { text: "{}" }));
    const schema = { type: "object", properties: { a: { type: "string" } } };
    const asked = {
      model: "m",
      messages: [{ role: "user" as const, content: "Hi", name: "ann" }],
      response_format: {
        type: "json_schema" as const,
        json_schema: { name: "a", description: "An a.", schema },
      },
      of_tomorrow: 1,
    };
    await gateway.client.chat.completions.create(asked);
    const body = heardBy(gateway);
    expect(body["text"]?.format).toBeUndefined();
    expect(JSON.stringify(body["input"])).toContain("JSON that matches the schema below");
    const plan = await fetch(`${gateway.served.url}/v1/plan`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(asked),
    });
    const { decisions } = (await plan.json()) as { decisions: Body[] };
    expect(decisions.map(({ path, action }) => [path, action])).toEqual([
      ["response_format", "changed"],
      ["messages[0]", "dropped"],
      ["of_tomorrow", "dropped"],
    ]);
  });

  it("has half a character replaced and a remote image told in words: Codex takes neither", async () => {
    const gateway = await codexWith(({ body }) => answerInResponses(body, { text: "Hello." }));
    await gateway.client.responses.create({
      model: "m",
      instructions: "\ud83d first",
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "cut \ud83d \u0000" },
            { type: "input_image", image_url: "https://example.com/a.png", detail: "auto" },
          ],
        },
      ],
    });
    const said = (heardBy(gateway)["input"] as Body[]).map(({ content }) =>
      (content as Body[]).map(({ text }) => text as string),
    );
    expect(said).toEqual([
      ["\ufffd first"],
      ["cut \ufffd \u0000", "(Here was image that cannot be shown.)"],
    ]);
  });

  it("is all of a long conversation, from the beginning to the end", async () => {
    const gateway = await codexWith(({ body }) => answerInResponses(body, { text: "Hello." }));
    const { completions } = gateway.client.chat;
    const messages = Array.from({ length: 300 }, (_, at) => ({
      role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
      content: `${at} ${"word ".repeat(100)}`,
    }));
    const all = Array.from({ length: 12 }, () => completions.create({ model: "m", messages }));
    await Promise.all(all);
    expect(
      gateway.model.requests.map((_, at) => (heardBy(gateway, at)["input"] as Body[]).length),
    ).toEqual(all.map(() => messages.length));
  });

  it("is told of no tools where the client wants none called", async () => {
    const gateway = await codexWith(({ body }) => answerInResponses(body, { text: "No." }));
    await gateway.client.chat.completions.create({
      model: "m",
      messages: [{ role: "user", content: "Hi" }],
      tools: [{ type: "function", function: { name: "look" } }],
      tool_choice: "none",
    });
    expect(gateway.model.requests[0]?.body["tools"] ?? []).toEqual([]);
  });
});
