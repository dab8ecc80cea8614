import {
  Agent,
  OpenAIConversationsSession,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
  tool,
  type Tool,
} from "@openai/agents";
import { describe, expect, it } from "vitest";
import {
  backends,
  openGatewayOn,
  question,
  schemas,
  toolbox,
  toolNames,
  type SdkGateway,
} from "./gateway.ts";
import type { Toolbox } from "./gateway.ts";
import { roundOf, wantedRound } from "./round.ts";

setTracingDisabled(true);

function agentOf(box: Toolbox): Agent {
  const tools = toolNames.map((name): Tool =>
    tool({
      name,
      description: name.replace("_", " "),
      parameters: schemas[name],
      strict: true,
      execute: (input) => box.run(name, input),
    }),
  );
  return new Agent({ name: "Guide", instructions: "Answer in one sentence.", model: "m", tools });
}

const runnerOf = (gateway: SdkGateway, useResponses: boolean): Runner =>
  new Runner({
    modelProvider: new OpenAIProvider({ openAIClient: gateway.client, useResponses }),
    tracingDisabled: true,
  });

describe.each(backends)("@openai/agents, with %s behind the gateway", (back) => {
  it("keeps a conversation at the gateway and sends only what is new", async () => {
    await using gateway = await openGatewayOn(back);
    const box = toolbox();
    const { id: conversationId } = await gateway.client.conversations.create({});
    const runner = runnerOf(gateway, true);
    const first = await runner.run(agentOf(box), question, { conversationId });
    expect(roundOf(gateway, box, first.finalOutput)).toEqual(wantedRound(back));
    const again = await runner.run(agentOf(toolbox()), "Thank you.", { conversationId });
    expect(again.finalOutput).toBeTypeOf("string");
    const kinds: string[] = [];
    const query = { order: "asc" } as const;
    for await (const item of gateway.client.conversations.items.list(conversationId, query))
      kinds.push(item.type === "message" ? item.role : item.type);
    expect(kinds.filter((kind) => kind !== "reasoning")).toEqual([
      "user",
      "function_call",
      "function_call",
      "function_call_output",
      "function_call_output",
      "assistant",
      "user",
      "assistant",
    ]);
  });

  it("keeps a session in a conversation", async () => {
    await using gateway = await openGatewayOn(back);
    const box = toolbox();
    const session = new OpenAIConversationsSession({ client: gateway.client });
    const { finalOutput } = await runnerOf(gateway, true).run(agentOf(box), question, { session });
    expect(roundOf(gateway, box, finalOutput)).toEqual(wantedRound(back));
    const items = await session.getItems();
    expect(items.length).toBeGreaterThanOrEqual(6);
    await session.clearSession();
  });

  describe.each([
    ["responses", true],
    ["chat", false],
  ])("over its %s model", (_, useResponses) => {
    it("makes a round with two calls", async () => {
      await using gateway = await openGatewayOn(back);
      const box = toolbox();
      const { finalOutput } = await runnerOf(gateway, useResponses).run(agentOf(box), question);
      expect(roundOf(gateway, box, finalOutput)).toEqual(wantedRound(back));
    });

    it("makes the same round over streams", async () => {
      await using gateway = await openGatewayOn(back);
      const box = toolbox();
      const run = await runnerOf(gateway, useResponses).run(agentOf(box), question, {
        stream: true,
      });
      let text = "";
      for await (const piece of run.toTextStream()) text += piece;
      await run.completed;
      expect(roundOf(gateway, box, text)).toEqual(wantedRound(back));
    });
  });
});
