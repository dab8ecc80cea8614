import {
  GoogleGenAI,
  type CallableTool,
  type Chat,
  type GenerateContentConfig,
  type Part,
} from "@google/genai";
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
  type ToolName,
} from "../sdk/gateway.ts";
import {
  backends,
  geminiGateways,
  numbered,
  pixel,
  lastSent,
  structured,
  structuredText,
  type GeminiGateway,
} from "./gateway.ts";

const open = geminiGateways();
const clientOf = ({ url }: Pick<GeminiGateway, "url">): GoogleGenAI =>
  new GoogleGenAI({ apiKey: "unused", httpOptions: { baseUrl: url } });

const declarations = toolNames.map((name) => ({
  name,
  description: name,
  parametersJsonSchema: schemas[name],
}));
const config: GenerateContentConfig = { tools: [{ functionDeclarations: declarations }] };

type Ask = (chat: Chat, message: string | Part[]) => Promise<Part[]>;

/** Both ways to send a message of a chat. */
const ways: Readonly<Record<"whole" | "streamed", Ask>> = {
  async whole(chat, message) {
    return (await chat.sendMessage({ message })).candidates?.[0]?.content?.parts ?? [];
  },
  async streamed(chat, message) {
    const parts: Part[] = [];
    for await (const chunk of await chat.sendMessageStream({ message }))
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
    return parts;
  },
};

/** Tools that the SDK calls itself. */
const callableOf = (box: Toolbox): CallableTool => ({
  tool: () => Promise.resolve({ functionDeclarations: declarations }),
  callTool: (calls) =>
    Promise.resolve(
      calls.map(({ id = "", name = "", args }) => ({
        functionResponse: { id, name, response: { output: box.run(name as ToolName, args) } },
      })),
    ),
});

const textIn = (parts: readonly Part[]): string => parts.map(({ text = "" }) => text).join("");

describe.each(backends)("@google/genai, with %s behind the gateway", (back) => {
  describe.each(Object.entries(ways))("%s", (_, ask) => {
    it("makes a round with two calls at once", async () => {
      await using gateway = await open(back);
      const chat = clientOf(gateway).chats.create({ model: "m", config });
      const box = toolbox();
      const calls = (await ask(chat, question)).flatMap(({ functionCall }) => functionCall ?? []);
      const answers = calls.map(({ id = "", name = "", args }) => ({
        functionResponse: { id, name, response: { output: box.run(name as ToolName, args) } },
      }));
      expect(box.called).toEqual(wantedInputs);
      expect(textIn(await ask(chat, answers))).toBe(finalText);
      const sent = lastSent(gateway);
      for (const result of Object.values(results)) expect(sent).toContain(result);
    });

    it("remembers three turns", async () => {
      await using gateway = await open(back, numbered);
      const chat = clientOf(gateway).chats.create({ model: "m" });
      for (const at of [1, 2, 3])
        expect(textIn(await ask(chat, `Question ${at}?`))).toBe(`Answer ${at}.`);
      const sent = lastSent(gateway);
      for (const text of ["Question 1?", "Answer 1.", "Question 2?", "Answer 2.", "Question 3?"])
        expect(sent).toContain(text);
      expect(chat.getHistory(true).filter(({ role }) => role === "user")).toHaveLength(3);
    });
  });

  it("runs tools by itself, once for each call", async () => {
    await using gateway = await open(back);
    const box = toolbox();
    const asked = { model: "m", contents: question, config: { tools: [callableOf(box)] } };
    const { models } = clientOf(gateway);
    expect((await models.generateContent(asked)).text).toBe(finalText);
    expect(box.called).toEqual(wantedInputs);
  });

  it("runs tools by itself in a stream", async () => {
    await using gateway = await open(back);
    const box = toolbox();
    const asked = { model: "m", contents: question, config: { tools: [callableOf(box)] } };
    let text = "";
    for await (const { candidates } of await clientOf(gateway).models.generateContentStream(asked))
      text += textIn(candidates?.[0]?.content?.parts ?? []);
    expect(text).toBe(finalText);
    expect(box.called).toEqual(wantedInputs);
  });

  it("gets JSON by a schema", async () => {
    await using gateway = await open(back, () => ({ text: structuredText }));
    const { models } = clientOf(gateway);
    for (const more of [
      { responseJsonSchema: structured },
      {
        responseSchema: {
          type: "OBJECT",
          properties: { city: { type: "STRING" }, days: { type: "INTEGER" } },
          required: ["city", "days"],
        },
      },
    ]) {
      const answer = await models.generateContent({
        model: "m",
        contents: "Where?",
        config: { responseMimeType: "application/json", ...(more as GenerateContentConfig) },
      });
      expect(JSON.parse(answer.text ?? "")).toEqual({ city: "Zürich", days: 3 });
      expect(lastSent(gateway)).toContain("days");
    }
  });

  it("sends a file along", async () => {
    await using gateway = await open(back, numbered);
    const { text } = await clientOf(gateway).models.generateContent({
      model: "m",
      contents: [{ inlineData: { mimeType: "image/png", data: pixel } }, "What is it?"],
    });
    expect(text).toBe("Answer 1.");
    expect(lastSent(gateway)).toContain(pixel);
  });

  it("counts tokens", async () => {
    await using gateway = await open(back);
    const { models } = clientOf(gateway);
    const { totalTokens = 0 } = await models.countTokens({ model: "m", contents: question });
    expect(totalTokens).toBeGreaterThan(5);
  });

  // The app-server is asked for any model.
  it.skipIf(back === "codex")("lists models", async () => {
    await using gateway = await open(back);
    const { models } = clientOf(gateway);
    const names: (string | undefined)[] = [];
    for await (const { name } of await models.list({ config: { pageSize: 1 } })) names.push(name);
    expect(names.slice(0, 2)).toEqual(["models/m", "models/gemini-2.5-flash"]);
    expect(names[2]).toMatch(/^models\/fake\/./);
    for (const name of names) expect((await models.get({ model: name ?? "" })).name).toBe(name);
    await expect(models.get({ model: "x" })).rejects.toMatchObject({ status: 404 });
  });
});
