import { createOpenAI } from "@ai-sdk/openai";
import {
  Agent,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
  tool as agentTool,
} from "@openai/agents";
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { clientOf } from "../sdk/gateway.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { backs, type Back, type Say } from "./backs.ts";
import { someTools } from "./tools.ts";

setTracingDisabled(true);

const declared = someTools(300);
const wanted = { name: "order4_list", arguments: { id: "O-9" } };
const [wrap] = backs as readonly [Back];

/** A model of an upstream that takes 128 tools: it reads two sections, calls a tool, and tells what it said. */
const says: readonly Say[] = [
  { reads: ["order4_1", "server2_2"] },
  { calls: [wanted] },
  { text: "The order is here." },
];

async function open() {
  const upstream = await fakeUpstream(({ body }, at) => wrap.answer(body, says[at] ?? {}, at));
  const served = await serve(onto("chat", upstream.url));
  const ran: [string, unknown][] = [];
  return {
    served,
    ran,
    run: (name: string) => (input: unknown) => {
      ran.push([name, input]);
      return "Found.";
    },
    judge() {
      expect(ran).toEqual([[wanted.name, wanted.arguments]]);
      expect(upstream.requests).toHaveLength(3);
      for (const { body } of upstream.requests)
        expect((body["tools"] as Body[]).length).toBeLessThanOrEqual(128);
    },
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

/** What is sealed is for nobody to look at. */
const withoutSeals = (key: string, value: unknown): unknown =>
  key === "reasoningEncryptedContent" ? undefined : value;
const INTERNALS = /read_section|call_tool|Content of section/;

describe("300 tools on an upstream that takes 128", () => {
  describe.each(["responses", "chat"] as const)("with the ai package over its %s model", (api) => {
    it.each(["whole", "streamed"])("have the right one called (%s)", async (form) => {
      await using on = await open();
      const asking = {
        model: createOpenAI({ baseURL: `${on.served.url}/v1`, apiKey: "unused" })[api]("m"),
        tools: Object.fromEntries(
          declared.map(({ name, description, parameters }) => [
            name,
            tool({ description, inputSchema: jsonSchema(parameters), execute: on.run(name) }),
          ]),
        ),
        stopWhen: isStepCount(4),
        prompt: "Where is order 9?",
        maxRetries: 0,
      };
      const { text, steps } = form === "whole" ? await generateText(asking) : streamText(asking);
      expect(await text).toBe("The order is here.");
      const calls = (await steps).flatMap(({ toolCalls }) => toolCalls);
      expect(calls.map(({ toolName, invalid }) => [toolName, invalid ?? false])).toEqual([
        [wanted.name, false],
      ]);
      const shown = (await steps).map(({ content }) => content);
      expect(JSON.stringify(shown, withoutSeals)).not.toMatch(INTERNALS);
      on.judge();
    });
  });

  describe.each([true, false])("with @openai/agents (Responses: %s)", (useResponses) => {
    it.each([true, false])("have the right one called (stream: %s)", async (stream) => {
      await using on = await open();
      const tools = declared.map(({ name, description, parameters }) =>
        agentTool({
          name,
          description,
          parameters: parameters as never,
          strict: false,
          execute: on.run(name),
        }),
      );
      const modelProvider = new OpenAIProvider({ openAIClient: clientOf(on.served), useResponses });
      const runner = new Runner({ modelProvider, tracingDisabled: true });
      const agent = new Agent({ name: "Guide", instructions: "Be short.", model: "m", tools });
      const question = "Where is order 9?";
      const run = stream
        ? await runner.run(agent, question, { stream: true })
        : await runner.run(agent, question);
      if ("completed" in run) await run.completed;
      expect(run.finalOutput).toBe("The order is here.");
      on.judge();
    });
  });
});
