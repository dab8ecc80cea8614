import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { json, sse, type Body, type Model } from "../support/fake-upstream.ts";
import { named } from "../support/fake-model.ts";
import {
  messagesRecordings as all,
  type MessagesRecording,
} from "../support/messages-recordings.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** Plays the recording whose number is the model's name. */
const replay: Model = ({ body }) => {
  const recording = all[Number(body["model"])];
  if (recording === undefined) return json({ error: { message: "no such recording" } }, 404);
  return recording.streamed
    ? sse(...recording.data.map((data) => named(JSON.parse(data) as { type: string })))
    : json(recording.data[0]);
};
const here = sharedGateway(replay);

/** Another answer begins in the middle of it: nobody can tell what holds. */
const isSpliced = ({ file }: MessagesRecording): boolean => file.includes("spliced");
const recordings = all.filter((recording) => !isSpliced(recording));

const modelOf = (recording: MessagesRecording): string => `messages/${all.indexOf(recording)}`;
const blocksOf = ({ message }: MessagesRecording, type: string): Body[] =>
  (message["content"] as Body[]).filter((block) => block["type"] === type);

const textIn = (recording: MessagesRecording): string =>
  blocksOf(recording, "text")
    .map(({ text }) => text as string)
    .join("");
const thoughtsIn = (recording: MessagesRecording): string[] =>
  blocksOf(recording, "thinking").map(({ thinking }) => thinking as string);
const callsIn = (recording: MessagesRecording): unknown[] =>
  blocksOf(recording, "tool_use").map(({ id, name, input }) => ({ id, name, input }));

/** The tools that the recorded model called, so that a client knows them. */
const namesIn = (recording: MessagesRecording): string[] => [
  ...new Set(blocksOf(recording, "tool_use").map(({ name }) => name as string)),
];

const key = { apiKey: "unused", maxRetries: 0 };
const openai = (): OpenAI =>
  new OpenAI({ baseURL: `${here.served.url}/v1`, fetch: here.served.fetch, ...key });
const anthropic = (): Anthropic =>
  new Anthropic({ baseURL: here.served.url, fetch: here.served.fetch, ...key });

/** What a client reads, whichever it is. */
type Heard = {
  readonly text: string;
  readonly thoughts: readonly string[];
  readonly calls: readonly unknown[];
  readonly stop: unknown;
  readonly usage: { readonly input: number; readonly output: number; readonly cached: number };
};

const parsed = (text: string): unknown => JSON.parse(text);

async function heardAsChat(recording: MessagesRecording, stream: boolean): Promise<Heard> {
  const params = {
    model: modelOf(recording),
    messages: [{ role: "user" as const, content: "Hi" }],
    tools: namesIn(recording).map((name) => ({ type: "function" as const, function: { name } })),
  };
  const { chat } = openai();
  const counted = { stream_options: { include_usage: true } };
  const streamed = stream ? chat.completions.stream({ ...params, ...counted }) : undefined;
  // The library keeps the last piece of what it does not know, so these are put together here.
  let thought = "";
  streamed?.on("chunk", ({ choices: [one] }) => {
    thought += (one?.delta as Body | undefined)?.["reasoning_content"] ?? "";
  });
  const completion = await (streamed?.finalChatCompletion() ?? chat.completions.create(params));
  const [choice] = completion.choices;
  const message = (choice?.message ?? {}) as Body;
  if (stream) message["reasoning_content"] = thought;
  const usage = (completion.usage ?? {}) as Body;
  return {
    text: (message["content"] as string | null) ?? "",
    thoughts: [message["reasoning_content"] as string].filter(Boolean),
    calls: ((message["tool_calls"] ?? []) as Body[]).map(({ id, function: fn }) => ({
      id: id as string,
      name: fn.name as string,
      input: parsed(fn.arguments as string),
    })),
    stop: choice?.finish_reason,
    usage: {
      input: usage["prompt_tokens"] as number,
      output: usage["completion_tokens"] as number,
      cached: (usage["prompt_tokens_details"]?.cached_tokens ?? 0) as number,
    },
  };
}

async function heardAsResponses(recording: MessagesRecording, stream: boolean): Promise<Heard> {
  const params = {
    model: modelOf(recording),
    input: "Hi",
    tools: namesIn(recording).map((name) => ({
      type: "function" as const,
      name,
      parameters: {},
      strict: false,
    })),
  };
  const { responses } = openai();
  const response = (stream
    ? await responses.stream(params).finalResponse()
    : await responses.create(params)) as unknown as Body;
  const output = response["output"] as Body[];
  const of = (type: string): Body[] => output.filter((item) => item["type"] === type);
  return {
    text: of("message")
      .flatMap(({ content }) => (content as Body[]).map(({ text }) => text as string))
      .join(""),
    thoughts: of("reasoning").flatMap(({ summary }) =>
      (summary as Body[]).map(({ text }) => text as string),
    ),
    calls: of("function_call").map(({ call_id, name, arguments: input }) => ({
      id: call_id as string,
      name: name as string,
      input: parsed(input as string),
    })),
    stop: response["incomplete_details"]?.reason ?? response["status"],
    usage: {
      input: response["usage"].input_tokens as number,
      output: response["usage"].output_tokens as number,
      cached: response["usage"].input_tokens_details.cached_tokens as number,
    },
  };
}

const asked = (recording: MessagesRecording) => ({
  model: modelOf(recording),
  max_tokens: 1000,
  messages: [{ role: "user" as const, content: "Hi" }],
});

const messageFor = async (recording: MessagesRecording, stream: boolean): Promise<Body> => {
  // The part of the library that knows all blocks.
  const { messages } = anthropic().beta;
  const message = stream
    ? await messages.stream(asked(recording)).finalMessage()
    : await messages.create(asked(recording));
  return message;
};

const given = (fields: Body): Body =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** The end as each door says it. */
const chatStops: Readonly<Record<string, string>> = {
  end_turn: "stop",
  tool_use: "tool_calls",
  refusal: "content_filter",
};
const responsesStops: Readonly<Record<string, string>> = { refusal: "content_filter" };

/** Some recordings end with another reason than what is in them asks for. */
const stopOf = (recording: MessagesRecording): string => {
  const said = String(recording.message["stop_reason"]);
  return said === "end_turn" && callsIn(recording).length > 0 ? "tool_use" : said;
};

function usageIn({ message }: MessagesRecording): Heard["usage"] {
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } =
    message["usage"] as Record<string, number | undefined>;
  const cached = cache_read_input_tokens ?? 0;
  const written = cache_creation_input_tokens ?? 0;
  return { input: (input_tokens ?? 0) + cached + written, output: output_tokens ?? 0, cached };
}

const wanted = (recording: MessagesRecording): Omit<Heard, "stop"> => ({
  text: textIn(recording),
  thoughts: thoughtsIn(recording),
  calls: callsIn(recording),
  usage: usageIn(recording),
});

describe.skipIf(all.length === 0)("what Claude really said", () => {
  it("is all there", () => {
    expect(all.length).toBeGreaterThanOrEqual(85);
    expect(all.filter(isSpliced)).toHaveLength(1);
  });

  describe.each([true, false])("streamed: %s", (stream) => {
    it.each(recordings)("$file is read as chat by openai", async (recording) => {
      const thoughts = [thoughtsIn(recording).join("")].filter(Boolean);
      const stop = chatStops[stopOf(recording)];
      expect(await heardAsChat(recording, stream)).toEqual({
        ...wanted(recording),
        thoughts,
        stop,
      });
    });

    it.each(recordings)("$file is read as a response by openai", async (recording) => {
      const thoughts = thoughtsIn(recording).filter(Boolean);
      const stop = responsesStops[stopOf(recording)] ?? "completed";
      const heard = await heardAsResponses(recording, stream);
      expect(heard).toEqual({ ...wanted(recording), thoughts, stop });
    });

    it.each(recordings)("$file is read as it was by @anthropic-ai/sdk", async (recording) => {
      const { content, stop_reason, usage } = await messageFor(recording, stream);
      expect(content).toEqual(recording.message["content"]);
      expect([recording.message["stop_reason"], stopOf(recording)]).toContain(stop_reason);
      const counts = recording.message["usage"] as Body;
      // Of a stream the library reads the counts that it knows.
      expect(usage).toMatchObject(
        stream ? { output_tokens: counts["output_tokens"] as number } : given(counts),
      );
    });
  });

  it("is no answer where another breaks into it", async () => {
    const [spliced] = all.filter(isSpliced) as [MessagesRecording];
    await expect(messageFor(spliced, true)).rejects.toThrow("began another answer");
    await expect(heardAsChat(spliced, true)).rejects.toThrow("began another answer");
    await expect(heardAsResponses(spliced, false)).rejects.toThrow("began another answer");
  });
});
