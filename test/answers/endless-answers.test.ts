import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, bodyFor, doors, doorUrl } from "../support/client.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";

let served: Served;
beforeAll(async () => {
  served = await serve({});
});
afterAll(() => served[Symbol.asyncDispose]());

const nested = (levels: number): unknown =>
  Array.from({ length: levels }).reduce<unknown>((inner) => ({ anyOf: [inner] }), {});

const errorOf = async (response: Response): Promise<Body> =>
  ((await response.json()) as Body)["error"] as Body;

describe.each(doors)("what is nested without end, at the %s door", (door) => {
  it("is no schema of a tool or of a format", async () => {
    const tool = { type: "function", function: { name: "f", parameters: nested(5000) } };
    const format = { type: "json_schema", json_schema: { name: "x", schema: nested(5000) } };
    const wrong: [Body, string][] = [
      [{ tools: [tool] }, "tools[0].function.parameters"],
      door === "chat"
        ? [{ response_format: format }, "response_format.json_schema.schema"]
        : [{ text: { format } }, "text.format.json_schema.schema"],
    ];
    for (const [more, param] of wrong) {
      const response = await ask(served, door, more);
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({ code: "request.invalid", param });
    }
  });

  it("is a tool's result like any other", async () => {
    const result = JSON.stringify(nested(5000));
    const call = { name: "f", arguments: "{}" };
    const more =
      door === "chat"
        ? {
            messages: [
              { role: "user", content: "Hi" },
              { role: "assistant", tool_calls: [{ id: "c", type: "function", function: call }] },
              { role: "tool", tool_call_id: "c", content: result },
            ],
          }
        : {
            input: [
              { role: "user", content: "Hi" },
              { type: "function_call", call_id: "c", ...call },
              { type: "function_call_output", call_id: "c", output: result },
            ],
          };
    expect((await ask(served, door, more)).status).toBe(200);
    const asked =
      door === "chat"
        ? { response_format: { type: "json_schema", json_schema: { name: "x", schema: {} } } }
        : { text: { format: { type: "json_schema", name: "x", schema: {} } } };
    expect((await ask(served, door, { ...more, ...asked })).status).toBe(200);
  });
});

it.each([true, false])(
  "refuses depths that an answer would repeat (stream: %s)",
  async (stream) => {
    const asked = JSON.stringify(bodyFor("responses", { stream, metadata: {} }));
    const deep = `${'{"a":'.repeat(45_000)}{}${"}".repeat(45_000)}`;
    const response = await fetch(doorUrl(served, "responses"), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: asked.replace('"metadata":{}', `"metadata":${deep}`),
    });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({
      code: "request.invalid",
      message: "The request is nested too deeply; reduce its nesting.",
    });
  },
);

describe("a pattern that might never be done", () => {
  const text = `${"a".repeat(60)}!`;
  const schema = {
    type: "object",
    properties: { a: { type: "string", pattern: "^(a|a)*$" }, b: { pattern: "(x+x+)+y" } },
    required: ["a"],
  };

  it("holds up neither the demo", async () => {
    const tools = [{ type: "function", function: { name: "f", parameters: schema } }];
    const messages = [{ role: "user", content: text }];
    const response = await ask(served, "chat", { messages, tools, tool_choice: "required" });
    expect(response.status).toBe(200);
  });

  it("nor the check of an answer, whose schema holds otherwise", async () => {
    const answers = [JSON.stringify({ a: text }), JSON.stringify({ b: text })];
    await using upstream = await fakeUpstream(({ body }, at) =>
      answerInChat(body, { text: answers[at] ?? "" }),
    );
    await using other = await serve(onto("chat", upstream.url, { profile: "deepseek" }));
    const json_schema = { name: "x", schema, strict: true };
    const more = { response_format: { type: "json_schema", json_schema } };
    expect((await ask(other, "chat", more)).status).toBe(200);
    expect(await errorOf(await ask(other, "chat", more))).toMatchObject({
      code: "upstream.format",
    });
  });
});
