import { describe, expect, it } from "vitest";
import { frame, sse, type Answer, type Body } from "../support/fake-upstream.ts";
import { ask, missing, openCodex, sharedCodex } from "./gateway.ts";

const codexWith = sharedCodex();

const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
const say = (...items: Body[]): Answer =>
  sse(
    ...items.map((item) => frame({ type: "response.output_item.done", item })),
    frame({ type: "response.completed", response: { id: "resp_1", usage } }),
  );
const thought = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Look first." }],
  encrypted_content: "sealed-by-the-model",
};
const call = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "look",
  arguments: "{}",
};
const message = (content: Body): Body => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  content: [content],
});
const tools = [
  {
    type: "function" as const,
    name: "look",
    parameters: { type: "object", properties: {} },
    strict: false,
  },
];

describe.skipIf(missing)("reasoning of a model behind the real codex app-server", () => {
  it.each([
    ["in the thread that waited", 600_000],
    ["in a fresh one", 0],
  ])("comes to the client, and back to the model %s", async (_, park_ms) => {
    await using gateway = await openCodex(
      ({ body }) =>
        JSON.stringify(body["input"]).includes("function_call_output")
          ? say(message({ type: "output_text", text: "A tree." }))
          : say(thought, call),
      { park_ms },
    );
    const { responses } = gateway.client;
    const asked = { role: "user" as const, content: "What is there?" };
    const first = await responses.create({ model: "m", input: [asked], tools });
    const reasoning = first.output.find((item) => item.type === "reasoning");
    expect(reasoning?.summary.map(({ text }) => text)).toEqual(["Look first."]);
    const result = { type: "function_call_output" as const, call_id: "call_1", output: "a tree" };
    const input = [asked, ...(first.output as never[]), result];
    const second = await responses.create({ model: "m", input, tools });
    expect(second.output_text).toBe("A tree.");
    const told = gateway.model.requests[1]?.body["input"] as Body[];
    expect(told.map((item) => item["type"])).toEqual([
      "message",
      "reasoning",
      "function_call",
      "function_call_output",
    ]);
    expect(told[1]).toMatchObject({ encrypted_content: "sealed-by-the-model" });
  });
});

describe.skipIf(missing)("a refusal behind the real codex app-server", () => {
  it("is a failure, since Codex keeps it to itself", async () => {
    const gateway = await codexWith(() => say(message({ type: "refusal", refusal: "No." })));
    const { status, body } = await ask(gateway);
    expect([status, body["error"]?.code]).toEqual([502, "upstream.empty"]);
    expect(body["error"]?.message).toContain("refused");
  });
});
