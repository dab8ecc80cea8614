import { readChatBody, readChatStream } from "../support/chat-reader.ts";
import { framesOf, type ClientAnswer } from "../support/client-answer.ts";
import type { Body } from "../support/fake-upstream.ts";
import { readResponsesBody, readResponsesEvents } from "../support/responses-reader.ts";
import { geminiDoor } from "./gemini-door.ts";
import { messagesDoor } from "./messages.ts";
import { parameters, type Read, type ReadChoice, type TestDoor } from "./door.ts";
import type { AskedFunction, AskedTool } from "./scenario.ts";

const stops: Readonly<Record<string, string>> = {
  stop: "end",
  tool_calls: "calls",
  content_filter: "filter",
  completed: "end",
  max_output_tokens: "length",
};

const choiceOf = ({ text, reasoning, calls, stop }: ClientAnswer): ReadChoice => ({
  text,
  reasoning,
  calls: calls.map(({ kind, name, input }) => ({ kind, name, input })),
  stop: stops[stop] ?? stop,
});

const errorOf = (text: string): string =>
  String((JSON.parse(text) as { error: Body }).error["message"]);

const chatTool = (tool: AskedTool): Body => ({
  type: tool.type,
  [tool.type]: { name: tool.name, ...(tool.type === "function" && { parameters }) },
});

/** The chunks of one choice, as the strict reader takes them; what all choices share stands in each. */
function chunksOf(text: string, index: number): string {
  const kept = framesOf(text).flatMap(({ data }) => {
    if (data === "[DONE]") return [data];
    const chunk = JSON.parse(data) as Body;
    const own = ((chunk["choices"] ?? []) as Body[]).filter((one) => one["index"] === index);
    if (own.length === 0 && (chunk["choices"] as Body[] | undefined)?.length) return [];
    return [
      JSON.stringify({ ...chunk, choices: own.map((one) => Object.assign({}, one, { index: 0 })) }),
    ];
  });
  return kept.map((data) => `data: ${data}\n\n`).join("");
}

function chatUsage(usage: Body | null | undefined): Read["usage"] {
  return usage ? { input: usage["prompt_tokens"], output: usage["completion_tokens"] } : undefined;
}

const chat: TestDoor = {
  name: "chat",
  can: new Set(["custom", "choices"]),
  request: ({ tools, choice, schema, n }, { model, stream }) => ({
    path: "/v1/chat/completions",
    body: {
      model,
      stream,
      n,
      messages: [{ role: "user", content: "Go." }],
      ...(stream && { stream_options: { include_usage: true } }),
      tools: tools?.map(chatTool),
      tool_choice: typeof choice === "object" ? { type: "function", function: choice } : choice,
      ...(schema && {
        response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
      }),
    },
  }),
  readStream(text) {
    const chunks = framesOf(text)
      .filter(({ data }) => data !== "[DONE]")
      .map(({ data }) => JSON.parse(data) as Body);
    const indexes = new Set(
      chunks.flatMap(({ choices = [] }) =>
        (choices as Body[]).map((one) => one["index"] as number),
      ),
    );
    const read = [...indexes]
      .toSorted((a, b) => a - b)
      .map((index) => readChatStream(chunksOf(text, index)));
    return {
      choices: read.map(choiceOf),
      usage: chatUsage(chunks.findLast((chunk) => chunk["usage"])?.["usage"] as Body | undefined),
      error: (chunks.at(-1)?.["error"] as Body | undefined)?.["message"] as string | undefined,
    };
  },
  readBody(text) {
    const body = JSON.parse(text) as Body;
    const choices = (body["choices"] as Body[]).map((one) => readChatBody({ choices: [one] }));
    return { choices: choices.map(choiceOf), usage: chatUsage(body["usage"] as Body) };
  },
  readError: errorOf,
};

const responsesFunction = ({ type, name }: AskedFunction): Body => ({
  type,
  name,
  parameters,
  strict: false,
});

function responsesTool(tool: AskedTool): Body {
  if (tool.type === "custom") return tool;
  if (tool.type === "function") return responsesFunction(tool);
  const { type, name, tools } = tool;
  return { type, name, description: "Files.", tools: tools.map(responsesFunction) };
}

function readResponse(response: Body): Read {
  const answer = readResponsesBody(response);
  const called = (response["output"] as Body[]).filter(({ type }) =>
    (type as string).endsWith("_call"),
  );
  const calls = answer.calls.map(({ kind, name, input }, at) => {
    const namespace = called[at]?.["namespace"] as string | undefined;
    return { kind, name, input, ...(namespace !== undefined && { namespace }) };
  });
  const choice = choiceOf(answer);
  const stop = calls.length > 0 && choice.stop === "end" ? "calls" : choice.stop;
  const usage = response["usage"] as Body | null;
  return {
    choices: [{ ...choice, calls, stop }],
    usage: usage ? { input: usage["input_tokens"], output: usage["output_tokens"] } : undefined,
  };
}

const responses: TestDoor = {
  name: "responses",
  can: new Set(["custom", "namespaces"]),
  request: ({ tools, choice, schema }, { model, stream }) => ({
    path: "/v1/responses",
    body: {
      model,
      stream,
      input: "Go.",
      tools: tools?.map(responsesTool),
      tool_choice: typeof choice === "object" ? { type: "function", ...choice } : choice,
      ...(schema && { text: { format: { type: "json_schema", name: "answer", schema } } }),
    },
  }),
  readStream(text) {
    const events = readResponsesEvents(text);
    const failed = events.find(({ type }) => type === "error");
    const read = readResponse(events.at(-1)?.["response"] as Body);
    return failed === undefined ? read : { ...read, error: failed["message"] as string };
  },
  readBody: (text) => readResponse(JSON.parse(text) as Body),
  readError: errorOf,
};

export const builtinDoors: readonly TestDoor[] = [chat, responses, messagesDoor, geminiDoor];
