import { createGoogleGenerativeAI } from "@ai-sdk/google";
import {
  generateText,
  isStepCount,
  jsonSchema,
  Output,
  streamText,
  tool,
  type ModelMessage,
  type ToolSet,
} from "ai";
import { describe, expect, it } from "vitest";
import {
  finalText,
  question,
  results,
  schemas,
  toolbox,
  toolNames,
  wantedInputs,
  type Toolbox,
} from "../sdk/gateway.ts";
import {
  backends,
  geminiGateways,
  lastSent,
  numbered,
  pixel,
  structured,
  structuredText,
  type GeminiGateway,
} from "./gateway.ts";

const open = geminiGateways();
const modelOn = ({ url }: Pick<GeminiGateway, "url">) =>
  createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: "unused" })("m");

const toolsOf = (box: Toolbox): ToolSet =>
  Object.fromEntries(
    toolNames.map((name) => [
      name,
      tool({
        description: name,
        inputSchema: jsonSchema(schemas[name]),
        execute: (input: unknown) => box.run(name, input),
      }),
    ]),
  );

describe.each(backends)("@ai-sdk/google, with %s behind the gateway", (back) => {
  it("makes a round with two calls at once", async () => {
    await using gateway = await open(back);
    const box = toolbox();
    const { text, steps, totalUsage } = await generateText({
      model: modelOn(gateway),
      tools: toolsOf(box),
      stopWhen: isStepCount(4),
      prompt: question,
      maxRetries: 0,
    });
    expect(steps.map((step) => step.finishReason)).toEqual(["tool-calls", "stop"]);
    expect(totalUsage.totalTokens).toBeGreaterThan(0);
    expect(box.called).toEqual(wantedInputs);
    expect(text).toBe(finalText);
    for (const result of Object.values(results)) expect(lastSent(gateway)).toContain(result);
  });

  it("makes the same round over streams", async () => {
    await using gateway = await open(back);
    const box = toolbox();
    const errors: unknown[] = [];
    const run = streamText({
      model: modelOn(gateway),
      tools: toolsOf(box),
      stopWhen: isStepCount(4),
      prompt: question,
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    });
    expect(await run.text).toBe(finalText);
    expect(errors).toEqual([]);
    expect((await run.steps).map((step) => step.finishReason)).toEqual(["tool-calls", "stop"]);
    expect(box.called).toEqual(wantedInputs);
  });

  it("remembers three turns", async () => {
    await using gateway = await open(back, numbered);
    const messages: ModelMessage[] = [];
    for (const at of [1, 2, 3]) {
      messages.push({ role: "user", content: `Question ${at}?` });
      const { text, response } = await generateText({
        model: modelOn(gateway),
        messages,
        maxRetries: 0,
      });
      expect(text).toBe(`Answer ${at}.`);
      messages.push(...response.messages);
    }
    for (const text of ["Question 1?", "Answer 1.", "Question 2?", "Answer 2."])
      expect(lastSent(gateway)).toContain(text);
  });

  it("gets an object by a schema", async () => {
    await using gateway = await open(back, () => ({ text: structuredText }));
    const { output } = await generateText({
      model: modelOn(gateway),
      prompt: "Where?",
      output: Output.object({ schema: jsonSchema(structured) }),
      maxRetries: 0,
    });
    expect(output).toEqual({ city: "Zürich", days: 3 });
    expect(lastSent(gateway)).toContain("days");
  });

  it("sends a file along", async () => {
    await using gateway = await open(back, numbered);
    const { text } = await generateText({
      model: modelOn(gateway),
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is it?" },
            { type: "file", data: pixel, mediaType: "image/png" },
          ],
        },
      ],
      maxRetries: 0,
    });
    expect(text).toBe("Answer 1.");
    expect(lastSent(gateway)).toContain(pixel);
  });
});
