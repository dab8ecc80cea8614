import Anthropic from "@anthropic-ai/sdk";
import { expect, it } from "vitest";
import { chunk } from "../support/fake-model.ts";
import { done, sse } from "../support/fake-upstream.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

const piece = (index: number, args: string): string => {
  const call = { index, id: `call_${index}`, type: "function" };
  return chunk(0, { tool_calls: [{ ...call, function: { name: "write", arguments: args } }] });
};
const whole = '{"path":"/tmp/a","text":"[{"}';
/** A chat model that says of every answer that its calls are whole. The name of the model says what is called. */
const here = sharedGateway(({ body }) =>
  sse(
    ...(body["model"] === "cut"
      ? [piece(0, whole), piece(1, '{"path":"/tmp/b","te')]
      : [piece(0, whole), piece(1, "{}")]),
    chunk(0, {}, "tool_calls"),
    done,
  ),
);

/** What a client is told, and the inputs of the blocks that were closed: those it runs. */
async function answered(model: string): Promise<unknown> {
  const client = new Anthropic({ baseURL: here.served.url, apiKey: "unused", maxRetries: 0 });
  const ran: unknown[] = [];
  const stream = client.messages
    .stream({
      model: `chat/${model}`,
      max_tokens: 99,
      messages: [{ role: "user", content: "Hi" }],
      tools: [{ name: "write", input_schema: { type: "object" } }],
    })
    .on("contentBlock", (block) => void (block.type === "tool_use" && ran.push(block.input)));
  return { stop: (await stream.finalMessage()).stop_reason, ran };
}

it("a call whose arguments break off is not closed, and the answer says that it was cut", async () => {
  const ran = [{ path: "/tmp/a", text: "[{" }];
  expect(await answered("cut")).toEqual({ stop: "max_tokens", ran });
});

it("a call whose arguments are whole is closed", async () => {
  const ran = [{ path: "/tmp/a", text: "[{" }, {}];
  expect(await answered("whole")).toEqual({ stop: "tool_use", ran });
});
