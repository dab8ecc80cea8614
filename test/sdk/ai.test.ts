import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import {
  generateText,
  isStepCount,
  jsonSchema,
  streamText,
  tool,
  type LanguageModel,
  type ToolSet,
} from "ai";
import { describe, expect, it } from "vitest";
import { backends, openGatewayOn, question, schemas, toolbox, toolNames } from "./gateway.ts";
import type { SdkGateway, Toolbox } from "./gateway.ts";
import { roundOf, wantedRound } from "./round.ts";

const toolsOf = (box: Toolbox): ToolSet =>
  Object.fromEntries(
    toolNames.map((name) => [
      name,
      tool({
        description: name.replace("_", " "),
        inputSchema: jsonSchema(schemas[name]),
        execute: (input: unknown) => box.run(name, input),
      }),
    ]),
  );

type Api = "responses" | "chat" | "messages";

function modelOf({ served }: SdkGateway, api: Api): LanguageModel {
  const settings = { baseURL: `${served.url}/v1`, apiKey: "unused" };
  return api === "messages" ? createAnthropic(settings)("m") : createOpenAI(settings)[api]("m");
}

describe.each(backends)("the ai package, with %s behind the gateway", (back) => {
  describe.each(["responses", "chat", "messages"] as const)("over its %s model", (api) => {
    it("makes a round with two calls", async () => {
      await using gateway = await openGatewayOn(back);
      const box = toolbox();
      const { text, steps, totalUsage } = await generateText({
        model: modelOf(gateway, api),
        tools: toolsOf(box),
        stopWhen: isStepCount(4),
        prompt: question,
        // A model whose name `@ai-sdk/anthropic` does not know is given 4096, with a warning.
        maxOutputTokens: 1000,
        maxRetries: 0,
      });
      expect(steps.map((step) => step.finishReason)).toEqual(["tool-calls", "stop"]);
      expect(totalUsage.totalTokens).toBeGreaterThan(0);
      expect(roundOf(gateway, box, text)).toEqual(wantedRound(back));
    });

    it("makes the same round over streams", async () => {
      await using gateway = await openGatewayOn(back);
      const box = toolbox();
      const errors: unknown[] = [];
      const run = streamText({
        model: modelOf(gateway, api),
        tools: toolsOf(box),
        stopWhen: isStepCount(4),
        prompt: question,
        // A model whose name `@ai-sdk/anthropic` does not know is given 4096, with a warning.
        maxOutputTokens: 1000,
        maxRetries: 0,
        onError: ({ error }) => void errors.push(error),
      });
      const text = await run.text;
      expect(errors).toEqual([]);
      expect((await run.steps).map((step) => step.finishReason)).toEqual(["tool-calls", "stop"]);
      expect(roundOf(gateway, box, text)).toEqual(wantedRound(back));
    });
  });
});
