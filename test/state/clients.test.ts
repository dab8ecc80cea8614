import { createOpenAI } from "@ai-sdk/openai";
import { Agent, OpenAIResponsesModel, Runner, tool } from "@openai/agents";
import { generateText, stepCountIs, tool as aiTool, type ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { clientOf } from "../sdk/gateway.ts";
import { chatToolLoop, messagesToolLoop, responsesToolLoop } from "../support/fake-dialects.ts";
import { fakeUpstream } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

const loops = { chat: chatToolLoop, responses: responsesToolLoop, messages: messagesToolLoop };
type Dialect = keyof typeof loops;
const dialects = Object.keys(loops) as Dialect[];
const done = "get_weather said 21 °C, sunny, get_time said 09:41.";

describe.each(dialects)("before a %s upstream", (dialect) => {
  it("the AI SDK with its defaults goes on with references to what it was given", async () => {
    await using upstream = await fakeUpstream(loops[dialect]);
    await using served = await serve(onto(dialect, upstream.url));
    const model = createOpenAI({ baseURL: `${served.url}/v1`, apiKey: "none" }).responses("m");
    const tools = {
      get_weather: aiTool({
        inputSchema: z.object({ city: z.string(), unit: z.string() }),
        execute: () => "21 °C, sunny",
      }),
      get_time: aiTool({ inputSchema: z.object({ city: z.string() }), execute: () => "09:41" }),
    };
    const messages: ModelMessage[] = [{ role: "user", content: "Hi" }];
    const first = await generateText({ model, tools, messages, stopWhen: stepCountIs(3) });
    expect(first.text).toBe(done);
    messages.push(...first.responseMessages, { role: "user", content: "And?" });
    const second = await generateText({ model, tools, messages, stopWhen: stepCountIs(3) });
    expect(second.text).toBe(done);
    expect(upstream.requests).toHaveLength(3);
    expect(JSON.stringify(upstream.requests[2]?.body)).toContain(done);
  });

  it("an agent of @openai/agents goes on from its last response alone", async () => {
    await using upstream = await fakeUpstream(loops[dialect]);
    await using served = await serve(onto(dialect, upstream.url));
    const model = new OpenAIResponsesModel(clientOf(served), "m");
    const agent = new Agent({
      name: "Clerk",
      model,
      tools: [
        tool({
          name: "get_weather",
          description: "",
          parameters: z.object({ city: z.string(), unit: z.string() }),
          execute: () => "21 °C, sunny",
        }),
        tool({
          name: "get_time",
          description: "",
          parameters: z.object({ city: z.string() }),
          execute: () => "09:41",
        }),
      ],
    });
    const runner = new Runner({ tracingDisabled: true });
    const first = await runner.run(agent, "Hi");
    expect(first.finalOutput).toBe(done);
    const previousResponseId = first.lastResponseId ?? "";
    const second = await runner.run(agent, "And?", { previousResponseId });
    expect(second.finalOutput).toBe(done);
    const last = JSON.stringify(upstream.requests.at(-1)?.body);
    for (const words of ["Hi", "21 °C, sunny", "09:41", done, "And?"])
      expect(last).toContain(words);
  });
});
