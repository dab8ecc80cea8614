import { z } from "zod";
import { headersOf } from "./ask.ts";
import { type Reply, requestBody, requestPath, type Scenario } from "./scenarios.ts";
import type { Subject } from "./subjects/subject.ts";

/** An answer as its client reads it, in any dialect. */
type Heard = { text: string; name: string; arguments: string; ended: boolean };

const chatCall = z.object({
  function: z.object({ name: z.string().nullish(), arguments: z.string().nullish() }),
});
const chatMessage = z.object({
  content: z.string().nullish(),
  tool_calls: z.array(chatCall).nullish(),
});
const chatAnswer = z.object({
  choices: z.array(
    z.object({
      message: chatMessage.optional(),
      delta: chatMessage.optional(),
      finish_reason: z.string().nullish(),
    }),
  ),
});
const responsesAnswer = z.object({
  status: z.literal("completed"),
  output: z.array(
    z.object({
      content: z.array(z.object({ text: z.string().optional() })).nullish(),
      name: z.string().optional(),
      arguments: z.string().optional(),
    }),
  ),
});
const responsesEvent = z.object({ type: z.string(), response: z.unknown().optional() });
const delta = z.object({ delta: z.string() });
const seenRequest = z.object({
  messages: z.unknown().optional(),
  system: z.unknown().optional(),
  contents: z.unknown().optional(),
  systemInstruction: z.unknown().optional(),
  tools: z.array(z.object({ functionDeclarations: z.array(z.unknown()).optional() })),
});

/** Refuses to measure a subject whose answers, or whose requests to the model, are not right. */
export async function verify(
  subject: Subject,
  scenario: Scenario,
  upstreamPort: number,
): Promise<void> {
  const path = requestPath(scenario, subject.door, subject.prefix);
  const response = await fetch(`http://127.0.0.1:${subject.port}${path}`, {
    method: "POST",
    headers: headersOf(subject),
    body: requestBody(scenario, subject.door, subject.prefix),
  });
  const text = await response.text();
  const where = `${subject.name}, ${scenario.title}`;
  if (response.status !== 200)
    throw new Error(`${where}: status ${response.status}: ${text.slice(0, 300)}`);
  const heard = hearers[subject.door](text, scenario);
  const expected = heardOf(scenario.reply);
  for (const key of ["text", "name", "arguments", "ended"] as const)
    if (heard[key] !== expected[key])
      throw new Error(`${where}: ${key} is ${heard[key]}, not ${expected[key]}`);
  await verifySeen(where, scenario, upstreamPort);
}

async function verifySeen(where: string, scenario: Scenario, port: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/`);
  const { tools, ...seen } = seenRequest.parse(await response.json());
  const count = tools.flatMap((one) => one.functionDeclarations ?? [one]).length;
  if (count !== scenario.tools.length) throw new Error(`${where}: the model saw ${count} tools`);
  const said = JSON.stringify(seen);
  for (const { content } of scenario.messages)
    if (!said.includes(content)) throw new Error(`${where}: a message did not reach the model`);
}

const messagesBlock = z.object({
  type: z.string(),
  text: z.string().optional(),
  name: z.string().optional(),
  input: z.unknown().optional(),
});
const messagesAnswer = z.object({ content: z.array(messagesBlock), stop_reason: z.string() });
const messagesEvent = z.object({
  type: z.string(),
  content_block: messagesBlock.optional(),
  delta: z.object({ text: z.string().optional(), partial_json: z.string().optional() }).optional(),
});

function hearMessages(text: string, scenario: Scenario): Heard {
  const heard: Heard = { text: "", name: "", arguments: "", ended: false };
  if (!scenario.stream) {
    for (const block of messagesAnswer.parse(JSON.parse(text)).content) {
      heard.text += block.text ?? "";
      heard.name += block.name ?? "";
      if (block.type === "tool_use") heard.arguments += JSON.stringify(block.input);
    }
    return { ...heard, ended: true };
  }
  for (const data of frames(text)) {
    const { type, content_block, delta: piece } = messagesEvent.parse(JSON.parse(data));
    heard.name += content_block?.name ?? "";
    heard.text += piece?.text ?? "";
    heard.arguments += piece?.partial_json ?? "";
    heard.ended ||= type === "message_stop";
  }
  return heard;
}

const geminiPart = z.object({
  text: z.string().optional(),
  functionCall: z.object({ name: z.string(), args: z.unknown() }).optional(),
});
const geminiChunk = z.object({
  candidates: z.array(
    z.object({
      content: z.object({ parts: z.array(geminiPart) }),
      finishReason: z.string().optional(),
    }),
  ),
});

function hearGemini(text: string, scenario: Scenario): Heard {
  const heard: Heard = { text: "", name: "", arguments: "", ended: false };
  for (const chunk of scenario.stream ? frames(text) : [text])
    for (const { content, finishReason } of geminiChunk.parse(JSON.parse(chunk)).candidates) {
      for (const { text: said, functionCall } of content.parts) {
        heard.text += said ?? "";
        heard.name += functionCall?.name ?? "";
        if (functionCall) heard.arguments += JSON.stringify(functionCall.args);
      }
      heard.ended ||= finishReason === "STOP";
    }
  return heard;
}

const hearers: Readonly<Record<Subject["door"], (text: string, scenario: Scenario) => Heard>> = {
  chat: hearChat,
  responses: hearResponses,
  messages: hearMessages,
  gemini: hearGemini,
};

function heardOf(reply: Reply): Heard {
  const said = reply.fragments.join("");
  return reply.type === "text"
    ? { text: said, name: "", arguments: "", ended: true }
    : { text: "", name: reply.name, arguments: said, ended: true };
}

function hearChat(text: string, scenario: Scenario): Heard {
  const heard: Heard = { text: "", name: "", arguments: "", ended: false };
  for (const data of scenario.stream ? frames(text) : [text]) {
    if (data === "[DONE]") continue;
    for (const choice of chatAnswer.parse(JSON.parse(data)).choices) {
      const message = choice.message ?? choice.delta;
      heard.text += message?.content ?? "";
      for (const call of message?.tool_calls ?? []) {
        heard.name += call.function.name ?? "";
        heard.arguments += call.function.arguments ?? "";
      }
      heard.ended ||= typeof choice.finish_reason === "string";
    }
  }
  if (scenario.stream && frames(text).at(-1) !== "[DONE]") heard.ended = false;
  return heard;
}

function hearResponses(text: string, scenario: Scenario): Heard {
  const heard: Heard = { text: "", name: "", arguments: "", ended: false };
  if (!scenario.stream) return hearOutput(JSON.parse(text));
  for (const data of frames(text)) {
    if (data === "[DONE]") continue;
    const json: unknown = JSON.parse(data);
    const event = responsesEvent.parse(json);
    if (event.type === "response.output_text.delta") heard.text += delta.parse(json).delta;
    if (event.type === "response.function_call_arguments.delta")
      heard.arguments += delta.parse(json).delta;
    if (event.type !== "response.completed") continue;
    const final = hearOutput(event.response);
    // The deltas and the closing account must tell the same story.
    heard.ended = final.text === heard.text && final.arguments === heard.arguments;
    heard.name = final.name;
  }
  return heard;
}

function hearOutput(body: unknown): Heard {
  const heard: Heard = { text: "", name: "", arguments: "", ended: true };
  for (const item of responsesAnswer.parse(body).output) {
    for (const part of item.content ?? []) heard.text += part.text ?? "";
    heard.name += item.name ?? "";
    heard.arguments += item.arguments ?? "";
  }
  return heard;
}

function frames(text: string): string[] {
  return text.split(/\r?\n/).flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? []);
}
