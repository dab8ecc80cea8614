import {
  AIMessageChunk,
  HumanMessage,
  ToolMessage,
  type AIMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { schemas, toolNames, type ToolName } from "../sdk/gateway.ts";
import type { GeminiClient } from "./client.ts";
import { structured, type GeminiGateway } from "./gateway.ts";

const modelOn = ({ url }: Pick<GeminiGateway, "url">) =>
  new ChatGoogleGenerativeAI({
    model: "gemini-2.5-flash",
    apiKey: "unused",
    baseUrl: url,
    maxRetries: 0,
  });
type Model = Pick<ReturnType<typeof modelOn>, "invoke" | "stream">;

const tools = toolNames.map((name) => ({
  type: "function",
  function: { name, description: name, parameters: schemas[name] },
}));

async function say(
  model: Model,
  messages: BaseMessage[],
  stream: boolean,
): Promise<AIMessage | AIMessageChunk> {
  if (!stream) return model.invoke(messages);
  let answer = new AIMessageChunk({ content: "" });
  for await (const chunk of await model.stream(messages)) answer = answer.concat(chunk);
  return answer;
}

export const langchain: GeminiClient = {
  name: "@langchain/google-genai",
  unhandled: "it rejects a promise that nobody has",
  async talk(gateway, { stream, box, questions }) {
    const bare = modelOn(gateway);
    const model = (box ? bare.bindTools(tools) : bare) as unknown as Model;
    const messages: BaseMessage[] = [];
    const texts: string[] = [];
    for (const question of questions) {
      messages.push(new HumanMessage(question));
      for (;;) {
        const answer = await say(model, messages, stream);
        messages.push(answer);
        const calls = answer.tool_calls ?? [];
        if (calls.length === 0 || box === undefined) {
          texts.push(answer.text);
          break;
        }
        for (const { id = "", name, args } of calls)
          messages.push(
            new ToolMessage({ tool_call_id: id, name, content: box.run(name as ToolName, args) }),
          );
      }
    }
    return texts;
  },
  async object(gateway, stream) {
    const model = modelOn(gateway).withStructuredOutput(structured, { method: "jsonSchema" });
    if (!stream) return model.invoke("Where?");
    let object: unknown;
    for await (const one of await model.stream("Where?")) object = one;
    return object;
  },
  async file(gateway, { mimeType, data }) {
    const content = [
      { type: "text", text: "What is it?" },
      { type: "image_url", image_url: `data:${mimeType};base64,${data}` },
    ];
    return (await modelOn(gateway).invoke([new HumanMessage({ content })])).text;
  },
  countTokens: "it counts by a table of its own",
  models: "it lists no models",
};
