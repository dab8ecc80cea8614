import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { Body } from "../support/fake-upstream.ts";
import type { Served } from "../support/serve.ts";
import { inChat, inResponses, type Declared } from "./tools.ts";

/** What a client was given, in no dialect. */
export type Given = {
  readonly text: string;
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments: string;
  }[];
  readonly usage: number | undefined;
  /** All of it as text, without what is sealed. */
  readonly shown: string;
};

export type Asking = {
  readonly tools: readonly Declared[];
  readonly stream: boolean;
  readonly choice?: string | { readonly force: string } | { readonly allow: readonly string[] };
  readonly more?: Body;
  readonly mode: string;
};

/** A client that keeps its conversation: it says something, and answers calls with results. */
export type Talk = { ask(said: string | readonly string[], asking: Asking): Promise<Given> };

const keyless = { apiKey: "unused", maxRetries: 0 };

type Door = (served: Pick<Served, "url" | "fetch">) => Talk;

/** Clients of each door, which ask a gateway without a connection. */
export const doors: Readonly<Record<"chat" | "responses" | "messages" | "gemini", Door>> = {
  chat: ({ url, fetch }) => chatTalk(new OpenAI({ baseURL: `${url}/v1`, fetch, ...keyless })),
  responses: ({ url, fetch }) =>
    responsesTalk(new OpenAI({ baseURL: `${url}/v1`, fetch, ...keyless })),
  messages: ({ url, fetch }) => messagesTalk(new Anthropic({ baseURL: url, fetch, ...keyless })),
  gemini: geminiTalk,
};

/** Its own client of Gemini's API: the official one takes no `fetch`. */
function geminiTalk({ url, fetch }: Pick<Served, "url" | "fetch">): Talk {
  const contents: Body[] = [];
  let pending: Given["calls"] = [];
  return {
    async ask(said, { tools, stream, choice, more, mode }) {
      const parts =
        typeof said === "string"
          ? [{ text: said }]
          : said.map((output, at) => {
              const { id, name } = pending[at] ?? { id: "", name: "" };
              return { functionResponse: { id, name, response: { output } } };
            });
      contents.push({ role: "user", parts });
      const declarations = tools.map(({ name, description, parameters }) => ({
        name,
        description,
        parametersJsonSchema: parameters,
      }));
      const body = {
        contents,
        tools: [{ functionDeclarations: declarations }],
        ...(choice !== undefined && {
          toolConfig: { functionCallingConfig: geminiChoice(choice) },
        }),
        ...more,
      };
      const action = stream ? "streamGenerateContent?alt=sse" : "generateContent";
      const response = await fetch(`${url}/v1beta/models/m:${action}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-patchbay-disclosure": mode },
        body: JSON.stringify(body),
      });
      const text = await receivedText(response);
      const frames = stream && response.ok ? text.split(/\r?\n\r?\n/).filter(Boolean) : [text];
      const chunks = frames.map((frame) => JSON.parse(frame.replace(/^data: /, "")) as Body);
      for (const chunk of chunks)
        if (chunk["error"] !== undefined) throw new Error(chunk["error"].message as string);
      const answered = chunks.flatMap(
        (chunk) => (chunk["candidates"]?.[0]?.content?.parts ?? []) as Body[],
      );
      contents.push({ role: "model", parts: answered });
      pending = answered.flatMap(({ functionCall: call }) =>
        call === undefined
          ? []
          : [{ id: call.id, name: call.name, arguments: JSON.stringify(call.args) }],
      );
      return {
        text: answered.map((part) => (part["text"] ?? "") as string).join(""),
        calls: pending,
        usage: chunks.at(-1)?.["usageMetadata"]?.totalTokenCount as number | undefined,
        shown: JSON.stringify(chunks, (key, value: unknown) =>
          key === "thoughtSignature" ? undefined : value,
        ),
      };
    },
  };
}

/** The text that arrived before the connection was broken off, as after a failure. */
async function receivedText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const piece of body ?? []) text += decoder.decode(piece, { stream: true });
  } catch {
    return text;
  }
  return text;
}

function geminiChoice(choice: NonNullable<Asking["choice"]>): Body {
  if (typeof choice === "string") return { mode: choice === "required" ? "ANY" : "NONE" };
  return "force" in choice
    ? { mode: "ANY", allowedFunctionNames: [choice.force] }
    : { mode: "VALIDATED", allowedFunctionNames: choice.allow };
}

function messagesTalk(client: Anthropic): Talk {
  const messages: Anthropic.MessageParam[] = [];
  let pending: Given["calls"] = [];
  return {
    async ask(said, { tools, stream, choice, more, mode }) {
      const content =
        typeof said === "string"
          ? said
          : said.map((text, at) => ({
              type: "tool_result" as const,
              tool_use_id: pending[at]?.id ?? "",
              content: text,
            }));
      messages.push({ role: "user", content });
      const body = {
        model: "m",
        max_tokens: 1000,
        messages: [...messages],
        tools: tools.map(({ name, description, parameters }) => ({
          name,
          description,
          input_schema: parameters,
        })),
        ...(choice !== undefined && { tool_choice: messagesChoice(choice) }),
        ...more,
      } as unknown as Anthropic.MessageCreateParamsNonStreaming;
      const options = { headers: { "x-patchbay-disclosure": mode } };
      const answer = stream
        ? await client.messages.stream(body, options).finalMessage()
        : await client.messages.create(body, options);
      messages.push({ role: "assistant", content: answer.content });
      pending = answer.content.flatMap((block) =>
        block.type === "tool_use"
          ? [{ id: block.id, name: block.name, arguments: JSON.stringify(block.input) }]
          : [],
      );
      const { input_tokens: input, output_tokens: output } = answer.usage;
      return {
        text: answer.content.map((block) => (block.type === "text" ? block.text : "")).join(""),
        calls: pending,
        usage: input + output,
        shown: JSON.stringify(answer, (key, value: unknown) =>
          key === "signature" || key === "data" ? undefined : value,
        ),
      };
    },
  };
}

function messagesChoice(choice: NonNullable<Asking["choice"]>): Body {
  if (typeof choice === "string") return { type: choice === "required" ? "any" : choice };
  return "force" in choice ? { type: "tool", name: choice.force } : { type: "auto" };
}

function chatTalk(client: OpenAI): Talk {
  const messages: Body[] = [];
  let pending: Given["calls"] = [];
  return {
    async ask(said, { tools, stream, choice, more, mode }) {
      if (typeof said === "string") messages.push({ role: "user", content: said });
      else
        for (const [at, content] of said.entries())
          messages.push({ role: "tool", tool_call_id: pending[at]?.id, content });
      const force = (name: string) => ({ type: "function", function: { name } });
      const body = {
        model: "m",
        messages: [...messages],
        tools: tools.map(inChat),
        ...(choice !== undefined && {
          tool_choice:
            typeof choice === "string"
              ? choice
              : "force" in choice
                ? force(choice.force)
                : {
                    type: "allowed_tools",
                    allowed_tools: { mode: "auto", tools: choice.allow.map(force) },
                  },
        }),
        ...more,
      } as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming;
      const options = { headers: { "x-patchbay-disclosure": mode } };
      const answer = stream
        ? await client.chat.completions
            .stream({ ...body, stream: true, stream_options: { include_usage: true } }, options)
            .finalChatCompletion()
        : await client.chat.completions.create(body, options);
      const message = answer.choices[0]?.message;
      messages.push({
        role: "assistant",
        content: message?.content ?? null,
        ...(message?.tool_calls !== undefined && {
          tool_calls: message.tool_calls.map(({ id, type, ...one }) => ({
            id,
            type,
            function:
              "function" in one
                ? { name: one.function.name, arguments: one.function.arguments }
                : {},
          })),
        }),
      });
      pending = (message?.tool_calls ?? []).flatMap((call) =>
        "function" in call
          ? [{ id: call.id, name: call.function.name, arguments: call.function.arguments }]
          : [],
      );
      return {
        text: message?.content ?? "",
        calls: pending,
        usage: answer.usage?.total_tokens,
        shown: JSON.stringify(answer),
      };
    },
  };
}

function responsesTalk(client: OpenAI): Talk {
  const input: Body[] = [];
  let pending: Given["calls"] = [];
  return {
    async ask(said, { tools, stream, choice, more, mode }) {
      if (typeof said === "string") input.push({ role: "user", content: said });
      else
        for (const [at, output] of said.entries())
          input.push({ type: "function_call_output", call_id: pending[at]?.id, output });
      const force = (name: string) => ({ type: "function", name });
      const body = {
        model: "m",
        input: [...input],
        tools: tools.map(inResponses),
        store: false,
        ...(choice !== undefined && {
          tool_choice:
            typeof choice === "string"
              ? choice
              : "force" in choice
                ? force(choice.force)
                : { type: "allowed_tools", mode: "auto", tools: choice.allow.map(force) },
        }),
        ...more,
      } as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming;
      const options = { headers: { "x-patchbay-disclosure": mode } };
      const answer = stream
        ? await client.responses.stream({ ...body, stream: true }, options).finalResponse()
        : await client.responses.create(body, options);
      input.push(
        ...answer.output.map((item) => Object.assign({}, item, { parsed_arguments: undefined })),
      );
      pending = answer.output.flatMap((item) =>
        item.type === "function_call"
          ? [{ id: item.call_id, name: item.name, arguments: item.arguments }]
          : [],
      );
      return {
        text: answer.output_text,
        calls: pending,
        usage: answer.usage?.total_tokens,
        shown: JSON.stringify({ ...answer, tools: [] }, (key, value: unknown) =>
          key === "encrypted_content" ? undefined : value,
        ),
      };
    },
  };
}
