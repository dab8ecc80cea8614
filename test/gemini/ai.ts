import { createGoogleGenerativeAI } from "@ai-sdk/google";
import {
  generateText,
  isStepCount,
  jsonSchema,
  Output,
  streamText,
  tool,
  type ModelMessage,
} from "ai";
import { schemas, toolNames, type Toolbox } from "../sdk/gateway.ts";
import type { GeminiClient } from "./client.ts";
import { structured, type GeminiGateway } from "./gateway.ts";

const optionsOn = ({ url }: Pick<GeminiGateway, "url">) => ({
  model: createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: "unused" })("m"),
  maxRetries: 0,
});

const toolsOf = (box: Toolbox) =>
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

/** Keeps the errors of a stream, which the SDK only prints. */
function streamed(options: Parameters<typeof streamText>[0]) {
  let failure: unknown;
  const run = streamText({ ...options, onError: ({ error }) => void (failure = error) });
  return {
    run,
    done: async (): Promise<void> => {
      await run.consumeStream();
      if (failure !== undefined) throw failure;
    },
  };
}

export const ai: GeminiClient = {
  name: "@ai-sdk/google",
  async talk(gateway, { stream, box, questions }) {
    const messages: ModelMessage[] = [];
    const texts: string[] = [];
    for (const question of questions) {
      messages.push({ role: "user", content: question });
      const options = {
        ...optionsOn(gateway),
        messages: [...messages],
        stopWhen: isStepCount(4),
        ...(box && { tools: toolsOf(box) }),
      };
      if (stream) {
        const { run, done } = streamed(options);
        await done();
        texts.push(await run.text);
        messages.push(...(await run.response).messages);
      } else {
        const { text, response } = await generateText(options);
        texts.push(text);
        messages.push(...response.messages);
      }
    }
    return texts;
  },
  async object(gateway, stream) {
    const output = Output.object({ schema: jsonSchema(structured) });
    const options = { ...optionsOn(gateway), prompt: "Where?", output };
    return stream ? streamText(options).output : (await generateText(options)).output;
  },
  async file(gateway, { mimeType, data }) {
    const content = [
      { type: "text" as const, text: "What is it?" },
      { type: "file" as const, data, mediaType: mimeType },
    ];
    const messages = [{ role: "user" as const, content }];
    return (await generateText({ ...optionsOn(gateway), messages })).text;
  },
  countTokens: "it counts no tokens",
  models: "it lists no models",
};
