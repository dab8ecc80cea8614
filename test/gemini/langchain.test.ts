import {
  AIMessageChunk,
  HumanMessage,
  ToolMessage,
  type AIMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { toolLoop, wantedCalls } from "../support/fake-model.ts";
import { describe, expect, it } from "vitest";
import {
  finalText,
  question,
  results,
  schemas,
  toolbox,
  toolNames,
  wantedInputs,
  type ToolName,
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
  type Say,
} from "./gateway.ts";

const open = geminiGateways();
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

/** The SDK sends no ids of calls back: the results of the round are told by their order. */
const anyIds: Say = (results) =>
  toolLoop(new Map([...results.values()].map((text, at) => [wantedCalls[at]?.id ?? "", text])));

type Ask = (model: Model, messages: BaseMessage[]) => Promise<AIMessage | AIMessageChunk>;
const ways: Readonly<Record<"whole" | "streamed", Ask>> = {
  whole: (model, messages) => model.invoke(messages),
  async streamed(model, messages) {
    let answer = new AIMessageChunk({ content: "" });
    for await (const chunk of await model.stream(messages)) answer = answer.concat(chunk);
    return answer;
  },
};

describe.each(backends)("@langchain/google-genai, with %s behind the gateway", (back) => {
  describe.each(Object.entries(ways))("%s", (_, ask) => {
    it("makes a round with two calls at once", async () => {
      await using gateway = await open(back, anyIds);
      const model = modelOn(gateway).bindTools(tools) as unknown as Model;
      const box = toolbox();
      const messages: BaseMessage[] = [new HumanMessage(question)];
      const first = await ask(model, messages);
      messages.push(first);
      for (const { id = "", name, args } of first.tool_calls ?? [])
        messages.push(
          new ToolMessage({ tool_call_id: id, name, content: box.run(name as ToolName, args) }),
        );
      expect(box.called).toEqual(wantedInputs);
      expect((await ask(model, messages)).text).toBe(finalText);
      for (const result of Object.values(results)) expect(lastSent(gateway)).toContain(result);
    });

    it("remembers three turns", async () => {
      await using gateway = await open(back, numbered);
      const messages: BaseMessage[] = [];
      for (const at of [1, 2, 3]) {
        messages.push(new HumanMessage(`Question ${at}?`));
        const answer = await ask(modelOn(gateway), messages);
        expect(answer.text).toBe(`Answer ${at}.`);
        messages.push(answer);
      }
      for (const text of ["Question 1?", "Answer 1.", "Question 2?", "Answer 2."])
        expect(lastSent(gateway)).toContain(text);
    });
  });

  it("gets an object by a schema", async () => {
    await using gateway = await open(back, () => ({ text: structuredText }));
    const model = modelOn(gateway).withStructuredOutput(structured, { method: "jsonSchema" });
    expect(await model.invoke("Where?")).toEqual({ city: "Zürich", days: 3 });
    expect(lastSent(gateway)).toContain("days");
  });

  it("sends a file along", async () => {
    await using gateway = await open(back, numbered);
    const content = [
      { type: "text", text: "What is it?" },
      { type: "image_url", image_url: `data:image/png;base64,${pixel}` },
    ];
    const { text } = await modelOn(gateway).invoke([new HumanMessage({ content })]);
    expect(text).toBe("Answer 1.");
    expect(lastSent(gateway)).toContain(pixel);
  });
});
