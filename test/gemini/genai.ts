import { GoogleGenAI, type CallableTool, type Chat, type Part, type Schema } from "@google/genai";
import { schemas, toolNames, type ToolName, type Toolbox } from "../sdk/gateway.ts";
import type { GeminiClient } from "./client.ts";
import { structured, type GeminiGateway } from "./gateway.ts";

const modelsOf = ({ url }: Pick<GeminiGateway, "url">) => clientOf({ url }).models;
const clientOf = ({ url }: Pick<GeminiGateway, "url">): GoogleGenAI =>
  new GoogleGenAI({ apiKey: "unused", httpOptions: { baseUrl: url } });

const functionDeclarations = toolNames.map((name) => ({
  name,
  description: name,
  parametersJsonSchema: schemas[name],
}));

const textIn = (parts: readonly Part[]): string => parts.map(({ text = "" }) => text).join("");

async function say(chat: Chat, message: string | Part[], stream: boolean): Promise<Part[]> {
  if (!stream) return (await chat.sendMessage({ message })).candidates?.[0]?.content?.parts ?? [];
  const parts: Part[] = [];
  for await (const chunk of await chat.sendMessageStream({ message }))
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
  return parts;
}

const resultsOf = (parts: readonly Part[], box: Toolbox): Part[] =>
  parts.flatMap(({ functionCall: call }) =>
    call === undefined
      ? []
      : [
          {
            functionResponse: {
              id: call.id ?? "",
              name: call.name ?? "",
              response: { output: box.run(call.name as ToolName, call.args) },
            },
          },
        ],
  );

const rest = {
  async object(gateway, stream) {
    const asked = {
      model: "m",
      contents: "Where?",
      config: {
        responseMimeType: "application/json",
        ...(stream ? { responseJsonSchema: structured } : { responseSchema: ownSchema }),
      },
    };
    if (!stream) return JSON.parse((await modelsOf(gateway).generateContent(asked)).text ?? "");
    let text = "";
    for await (const chunk of await modelsOf(gateway).generateContentStream(asked))
      text += chunk.text ?? "";
    return JSON.parse(text);
  },
  async file(gateway, inlineData) {
    const contents = [{ inlineData }, "What is it?"];
    return (await modelsOf(gateway).generateContent({ model: "m", contents })).text ?? "";
  },
  async countTokens(gateway, contents) {
    return (await modelsOf(gateway).countTokens({ model: "m", contents })).totalTokens ?? 0;
  },
  async models(gateway) {
    const models = modelsOf(gateway);
    const names: string[] = [];
    for await (const { name = "" } of await models.list({ config: { pageSize: 1 } }))
      names.push(name);
    const got = await Promise.all(names.map((model) => models.get({ model })));
    return [names, got.map(({ name = "" }) => name)];
  },
} as const satisfies Partial<GeminiClient>;

const ownSchema = {
  type: "OBJECT",
  properties: { city: { type: "STRING" }, days: { type: "INTEGER" } },
  required: ["city", "days"],
} as unknown as Schema;

/** A chat whose calls are answered by hand. */
export const genai: GeminiClient = {
  name: "@google/genai",
  async talk(gateway, { stream, box, questions }) {
    const config = box && { tools: [{ functionDeclarations }] };
    const chat = clientOf(gateway).chats.create({ model: "m", ...(config && { config }) });
    const answersTo = (parts: readonly Part[]): Part[] => (box ? resultsOf(parts, box) : []);
    const texts: string[] = [];
    for (const question of questions) {
      let parts = await say(chat, question, stream);
      for (let results = answersTo(parts); results.length > 0; results = answersTo(parts))
        parts = await say(chat, results, stream);
      texts.push(textIn(parts));
    }
    return texts;
  },
  ...rest,
};

/** Tools that the SDK calls itself. */
const callableOf = (box: Toolbox): CallableTool => ({
  tool: () => Promise.resolve({ functionDeclarations }),
  callTool: (calls) =>
    Promise.resolve(
      resultsOf(
        calls.map((functionCall) => ({ functionCall })),
        box,
      ),
    ),
});

/** A chat in which the SDK runs the calls. */
export const callingGenai: GeminiClient = {
  name: "@google/genai that runs tools by itself",
  async talk(gateway, { stream, box, questions }) {
    const config = box && { tools: [callableOf(box)] };
    const chat = clientOf(gateway).chats.create({ model: "m", ...(config && { config }) });
    const texts: string[] = [];
    for (const question of questions) texts.push(textIn(await say(chat, question, stream)));
    return texts;
  },
  ...rest,
};
