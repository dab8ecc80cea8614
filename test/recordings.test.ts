import { createOpenAI } from "@ai-sdk/openai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, doors, readBody, told, type DoorName } from "./client.ts";
import {
  done,
  fakeUpstream,
  json,
  sse,
  type Body,
  type FakeUpstream,
  type Model,
} from "./fake-upstream.ts";
import { recordings, refusals, type Recording } from "./recordings.ts";
import { serve, type Served } from "./serve.ts";
import type { Told } from "./told.ts";

/** Plays the recording whose number is the model's name. */
const replay: Model = ({ body }) => {
  const recording = recordings[Number(body["model"])];
  if (recording === undefined) return json({ error: { message: "no such recording" } }, 404);
  return recording.streamed
    ? sse(...recording.events.map((event) => `data: ${event}\n\n`), ...endOf(recording))
    : json(recording.events[0]);
};

const endOf = ({ dialect, events }: Recording): string[] =>
  dialect === "chat" && events.at(-1) !== "[DONE]" ? [done] : [];

let upstream: FakeUpstream;
let served: Served;
beforeAll(async () => {
  upstream = await fakeUpstream(replay);
  const to = { base_url: upstream.url, retries: 0 };
  served = await serve({
    upstreams: { chat: { dialect: "chat", ...to }, responses: { dialect: "responses", ...to } },
  });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

const modelOf = (recording: Recording): string =>
  `${recording.dialect}/${recordings.indexOf(recording)}`;

/** A request that declares what the recorded model called. */
function request(door: DoorName, { calls }: Recording): Body {
  const names = new Map(calls.map((call) => [call.name, call.kind]));
  const tools = [...names].map(([name, type]) => {
    const tool = type === "custom" ? { name } : { name, parameters: { type: "object" } };
    return door === "chat" ? { type, [type]: tool } : Object.assign(tool, { type });
  });
  return tools.length === 0 ? {} : { tools };
}

const tell = async (
  recording: Recording,
  door: DoorName,
  stream: boolean,
): Promise<Told & { readonly status: number }> =>
  told(
    door,
    await ask(served, door, { model: modelOf(recording), stream, ...request(door, recording) }),
  );

/** How a door says the end that was recorded. */
function stopAt(door: DoorName, { calls, finish }: Recording): string {
  if (finish === "length") return door === "chat" ? "length" : "max_output_tokens";
  if (door === "responses") return "completed";
  return calls.length > 0 ? "tool_calls" : "stop";
}

const wantedFrom = (recording: Recording, door: DoorName): object => ({
  text: recording.text,
  calls: recording.calls.map((call) => ({ ...call, complete: true })),
  stop: stopAt(door, recording),
  error: undefined,
});

const failing = recordings.filter(({ finish }) => finish === "failed" || finish === null);
const sound = recordings.filter((recording) => !failing.includes(recording));

describe.skipIf(recordings.length === 0)("what providers really sent", () => {
  it("is all there", () => {
    expect(recordings.length).toBeGreaterThanOrEqual(142);
    expect(failing.map(({ file }) => file)).toEqual([
      "openai-responses/openai-error.1.chunks.txt",
      "openai-responses/parallel-tool-call-wrapper.1.chunks.txt",
    ]);
  });

  describe.each(doors)("through the %s door", (door) => {
    it.each(sound)("$file arrives as it was said, streamed", async (recording) => {
      const wanted = { status: 200, ...wantedFrom(recording, door) };
      expect(await tell(recording, door, true)).toMatchObject(wanted);
    });

    it.each(sound)("$file arrives as it was said, whole", async (recording) => {
      const wanted = { status: 200, ...wantedFrom(recording, door) };
      expect(await tell(recording, door, false)).toMatchObject(wanted);
    });
  });
});

describe.skipIf(recordings.length === 0)("the readers of official clients", () => {
  it.each(sound)("take $file as chat", async (recording) => {
    const messages = [{ role: "user" as const, content: "Hi" }];
    const params = { messages, model: modelOf(recording), ...request("chat", recording) };
    const completion = await client().chat.completions.stream(params).finalChatCompletion();
    expect(readBody("chat", completion as Body)).toMatchObject(wantedFrom(recording, "chat"));
    expect(await aiReads("chat", recording)).toEqual(aiWants(recording));
  });

  it.each(sound)("take $file as responses", async (recording) => {
    const params = { input: "Hi", model: modelOf(recording), ...request("responses", recording) };
    const response = await client().responses.stream(params).finalResponse();
    expect(readBody("responses", response as Body)).toMatchObject(
      wantedFrom(recording, "responses"),
    );
    expect(await aiReads("responses", recording)).toEqual(aiWants(recording));
  });
});

const client = (): OpenAI =>
  new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "unused", maxRetries: 0 });

type AiRead = { text: string; calls: unknown[]; errors: unknown[] };

/** What the ai package makes of a stream. It knows no custom calls over chat, and runs hosted ones by itself. */
async function aiReads(api: DoorName, recording: Recording): Promise<AiRead> {
  const provider = createOpenAI({ baseURL: `${served.url}/v1`, apiKey: "unused" });
  const { stream } = await provider[api](modelOf(recording)).doStream({
    prompt: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
  });
  const read: AiRead = { text: "", calls: [], errors: [] };
  for await (const part of stream) {
    if (part.type === "text-delta") read.text += part.delta;
    if (part.type === "error") read.errors.push(part.error);
    if (part.type === "tool-call" && part.providerExecuted !== true)
      read.calls.push({ id: part.toolCallId, name: part.toolName, input: part.input });
  }
  return read;
}

const aiWants = ({ text, calls }: Recording): AiRead => ({
  text,
  calls: calls
    .filter((call) => call.kind === "function")
    .map(({ id, name, input }) => ({ id, name, input })),
  errors: [],
});

describe.skipIf(recordings.length === 0)("items that a provider worked on by itself", () => {
  const hosted = sound.filter(
    ({ dialect, itemTypes }) =>
      dialect === "responses" &&
      itemTypes.some((type) => !["message", "reasoning", "function_call"].includes(type)),
  );

  it.each(hosted)("are all in the responses door's answer to $file", async (recording) => {
    for (const stream of [true, false]) {
      const more = { model: modelOf(recording), stream };
      const text = await (await ask(served, "responses", more)).text();
      const response = (stream ? lastResponse(text) : JSON.parse(text)) as Body;
      const output = response["output"] as Body[];
      expect(output.map((item) => item["type"] as string)).toEqual(recording.itemTypes);
      expect(output.filter(isHosted)).toEqual(outputOf(recording).filter(isHosted));
    }
  });

  const isHosted = (item: Body): boolean =>
    !/^(?:message|reasoning|function_call|custom_tool_call)$/.test(item["type"] as string);
  const lastResponse = (text: string): unknown =>
    (JSON.parse(/^data: (.*"type":"response\.completed".*)$/m.exec(text)?.[1] ?? "{}") as Body)[
      "response"
    ];
  const outputOf = ({ events, streamed }: Recording): Body[] => {
    const bodies = events.map((event) => JSON.parse(event) as Body);
    if (!streamed) return bodies[0]?.["output"] as Body[];
    return bodies
      .filter((event) => event["type"] === "response.output_item.done")
      .map((event) => event["item"] as Body);
  };
});

describe.skipIf(recordings.length === 0)("what went wrong at providers", () => {
  const [quota, broken] = failing as [Recording, Recording];

  it.each(doors)("is an honest end at the %s door", async (door) => {
    for (const stream of [true, false]) {
      const { error, calls } = await tell(quota, door, stream);
      expect(JSON.stringify(error)).toContain("You exceeded your current quota");
      expect(calls).toEqual([]);
    }
    expect((await tell(quota, door, false)).status).toBeGreaterThanOrEqual(400);
  });

  it.each(doors)("is not passed on as whole at the %s door when it breaks off", async (door) => {
    expect((await tell(broken, door, true)).error).toBeDefined();
    expect((await tell(broken, door, false)).status).toBe(502);
  });

  it.each(refusals)("keeps its words and class in $file", async ({ body }) => {
    const { message, code, status = code } = body["error"] as Body;
    const http = /quota/.test(message as string) ? 429 : 400;
    await using refusing = await fakeUpstream(() => json(body, http));
    const to = { base_url: refusing.url, retries: 0 };
    await using house = await serve({
      upstreams: { chat: { dialect: "chat", ...to }, responses: { dialect: "responses", ...to } },
    });
    const words = { message: expect.stringContaining(message) as string };
    const wanted = typeof status === "string" ? { ...words, code: status } : words;
    for (const dialect of doors)
      for (const door of doors)
        expect(await told(door, await ask(house, door, { model: `${dialect}/m` }))).toMatchObject({
          status: http,
          error: wanted,
        });
  });
});
