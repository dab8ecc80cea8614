import type OpenAI from "openai";
import type { RunnableToolFunctionWithParse } from "openai/lib/RunnableFunction";
import { describe, expect, it } from "vitest";
import {
  backends,
  openGatewayOn,
  question,
  schemas,
  toolbox,
  toolNames,
  type Toolbox,
} from "./gateway.ts";
import { roundOf, wantedRound } from "./round.ts";

type Message = OpenAI.ChatCompletionMessageParam;
type AnsweredCall = OpenAI.ChatCompletionMessageFunctionToolCall;

const tools = toolNames.map((name): OpenAI.ChatCompletionFunctionTool => ({
  type: "function",
  function: { name, parameters: schemas[name], strict: true },
}));
const asked: Message = { role: "user", content: question };

/** The results of the calls of a message, as messages. */
const answers = (box: Toolbox, message: OpenAI.ChatCompletionMessage): Message[] =>
  ((message.tool_calls ?? []) as AnsweredCall[]).map((call) => ({
    role: "tool",
    tool_call_id: call.id,
    content: box.run(call.function.name as never, JSON.parse(call.function.arguments)),
  }));

const runnable = (box: Toolbox): RunnableToolFunctionWithParse<object>[] =>
  toolNames.map((name) => ({
    type: "function",
    function: {
      name,
      description: name.replace("_", " "),
      parameters: schemas[name],
      parse: (text) => JSON.parse(text) as object,
      function: (input) => box.run(name, input),
    },
  }));

describe.each(backends)("openai's chat client, with %s behind the gateway", (back) => {
  it("makes a round with two calls", async () => {
    await using gateway = await openGatewayOn(back);
    const { completions } = gateway.client.chat;
    const box = toolbox();
    const first = await completions.create({ model: "m", messages: [asked], tools });
    const [choice] = first.choices;
    expect(choice?.finish_reason).toBe("tool_calls");
    expect(first.usage?.total_tokens).toBeGreaterThan(0);
    const message = choice?.message as OpenAI.ChatCompletionMessage;
    const messages = [asked, message, ...answers(box, message)];
    const second = await completions.create({ model: "m", messages, tools });
    expect(second.choices[0]?.finish_reason).toBe("stop");
    expect(roundOf(gateway, box, second.choices[0]?.message.content)).toEqual(wantedRound(back));
  });

  it("makes the same round over streams", async () => {
    await using gateway = await openGatewayOn(back);
    const { completions } = gateway.client.chat;
    const box = toolbox();
    const first = completions.stream({
      model: "m",
      messages: [asked],
      tools,
      stream_options: { include_usage: true },
    });
    const message = await first.finalMessage();
    expect((await first.finalChatCompletion()).choices[0]?.finish_reason).toBe("tool_calls");
    expect((await first.totalUsage()).total_tokens).toBeGreaterThan(0);
    const messages = [asked, message as Message, ...answers(box, message)];
    const second = await completions.create({ model: "m", messages, tools, stream: true });
    let text = "";
    for await (const chunk of second) text += chunk.choices[0]?.delta.content ?? "";
    expect(roundOf(gateway, box, text)).toEqual(wantedRound(back));
  });

  it("runs tools by itself", async () => {
    await using gateway = await openGatewayOn(back);
    const box = toolbox();
    const runner = gateway.client.chat.completions.runTools({
      model: "m",
      messages: [asked],
      tools: runnable(box),
    });
    const text = await runner.finalContent();
    expect(roundOf(gateway, box, text)).toEqual(wantedRound(back));
  });

  it("runs tools by itself over streams", async () => {
    await using gateway = await openGatewayOn(back);
    const box = toolbox();
    const runner = gateway.client.chat.completions.runTools({
      model: "m",
      messages: [asked],
      tools: runnable(box),
      stream: true,
    });
    const text = await runner.finalContent();
    expect(roundOf(gateway, box, text)).toEqual(wantedRound(back));
  });
});
