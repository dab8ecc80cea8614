import { ChatAnthropic } from "@langchain/anthropic";
import {
  AIMessageChunk,
  HumanMessage,
  ToolMessage,
  type AIMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import {
  backends,
  openGatewayOn,
  question,
  schemas,
  toolbox,
  toolNames,
  type SdkGateway,
  type Toolbox,
  type ToolName,
} from "./gateway.ts";
import { roundOf, wantedRound } from "./round.ts";

const tools = toolNames.map((name) => ({ name, description: name, input_schema: schemas[name] }));

type Model = ReturnType<typeof modelOf>;
const modelOf = ({ served }: SdkGateway) =>
  new ChatAnthropic({
    model: "m",
    apiKey: "unused",
    anthropicApiUrl: served.url,
    maxRetries: 0,
  }).bindTools(tools);

type Ask = (model: Model, messages: BaseMessage[]) => Promise<AIMessage | AIMessageChunk>;

const ways: Readonly<Record<"invoke" | "stream", Ask>> = {
  invoke: (model, messages) => model.invoke(messages),
  async stream(model, messages) {
    let answer = new AIMessageChunk({ content: "" });
    for await (const chunk of await model.stream(messages)) answer = answer.concat(chunk);
    return answer;
  },
};

/** Runs what the model calls until it calls nothing more. */
async function loop(ask: (messages: BaseMessage[]) => ReturnType<Ask>, box: Toolbox) {
  const messages: BaseMessage[] = [new HumanMessage(question)];
  for (let turn = 0; turn < 5; turn++) {
    const answer = await ask(messages);
    const calls = answer.tool_calls ?? [];
    if (calls.length === 0) return answer.text;
    const results = calls.map(
      ({ id = "", name, args }) =>
        new ToolMessage({ tool_call_id: id, content: box.run(name as ToolName, args) }),
    );
    messages.push(answer, ...results);
  }
  throw new Error("the model does not come to an end");
}

describe.each(backends)("LangChain's ChatAnthropic in front of %s", (back) => {
  it.each(["invoke", "stream"] as const)("runs two calls at once through %s", async (way) => {
    await using gateway = await openGatewayOn(back);
    const box = toolbox();
    const model = modelOf(gateway);
    const text = await loop((messages) => ways[way](model, messages), box);
    expect(roundOf(gateway, box, text)).toEqual(wantedRound(back));
  });
});
