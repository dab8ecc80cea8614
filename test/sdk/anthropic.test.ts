import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import {
  backends,
  openGatewayOn,
  question,
  schemas,
  toolbox,
  toolNames,
  type SdkGateway,
  type Toolbox,
  type ToolName,
} from "./gateway.ts";
import { roundOf, wantedRound } from "./round.ts";

const clientOf = ({ served }: SdkGateway): Anthropic =>
  new Anthropic({ baseURL: served.url, apiKey: "unused", maxRetries: 0 });

const tools: Anthropic.Tool[] = toolNames.map((name) => ({
  name,
  description: `${name} of a city`,
  input_schema: schemas[name],
}));

type Ask = (messages: Anthropic.MessageParam[]) => Promise<Anthropic.Message>;

/** The loop of an agent: runs what the model calls until it calls nothing more. */
async function loop(ask: Ask, box: Toolbox): Promise<string> {
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: question }];
  for (let turn = 0; turn < 5; turn++) {
    const answer = await ask(messages);
    messages.push({ role: "assistant", content: answer.content });
    const calls = answer.content.filter((block) => block.type === "tool_use");
    expect(answer.stop_reason).toBe(calls.length === 0 ? "end_turn" : "tool_use");
    if (calls.length === 0) {
      return answer.content.map((block) => (block.type === "text" ? block.text : "")).join("");
    }
    const content = calls.map(({ id, name, input }) => ({
      type: "tool_result" as const,
      tool_use_id: id,
      content: box.run(name as ToolName, input),
    }));
    messages.push({ role: "user", content });
  }
  throw new Error("the model does not come to an end");
}

const request = { model: "m", max_tokens: 1000, tools } as const;

describe.each(backends)("the Anthropic SDK in front of %s", (back) => {
  it("runs two calls at once through messages.create", async () => {
    await using gateway = await openGatewayOn(back);
    const client = clientOf(gateway);
    const box = toolbox();
    const text = await loop((messages) => client.messages.create({ ...request, messages }), box);
    expect(roundOf(gateway, box, text)).toEqual(wantedRound(back));
  });

  it("runs two calls at once through messages.stream", async () => {
    await using gateway = await openGatewayOn(back);
    const client = clientOf(gateway);
    const box = toolbox();
    const ask: Ask = (messages) => client.messages.stream({ ...request, messages }).finalMessage();
    expect(roundOf(gateway, box, await loop(ask, box))).toEqual(wantedRound(back));
  });

  it.each([false, true])(
    "runs its own tool runner with its defaults, streamed: %s",
    async (stream) => {
      await using gateway = await openGatewayOn(back);
      const client = clientOf(gateway);
      const box = toolbox();
      const runner = client.beta.messages.toolRunner({
        ...request,
        stream,
        tools: toolNames.map((name) => ({
          type: "custom" as const,
          name,
          input_schema: schemas[name],
          description: name,
          run: (input: unknown) => box.run(name, input),
          parse: (input: unknown) => input,
        })),
        messages: [{ role: "user", content: question }],
      });
      const answer = await runner.runUntilDone();
      const text = answer.content
        .map((block) => (block.type === "text" ? block.text : ""))
        .join("");
      expect(roundOf(gateway, box, text)).toEqual(wantedRound(back));
    },
  );
});
