import { isDeepStrictEqual } from "node:util";
import { createOpenAI } from "@ai-sdk/openai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { askWithin, doors, readBody, readAnswer, type DoorName } from "../support/client.ts";
import { done, fakeUpstream, json, sse, type Body, type Model } from "../support/fake-upstream.ts";
import { recordings, refusals, type Recording } from "../support/recordings.ts";
import { unsealed } from "../support/responses-reader.ts";
import { serve } from "../support/serve.ts";
import type { ClientAnswer } from "../support/client-answer.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

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

const here = sharedGateway(replay);

const modelOf = (recording: Recording): string =>
  `${recording.dialect}/${recordings.indexOf(recording)}`;

type Call = Recording["calls"][number];
const isNamed = ({ kind }: Call): boolean => kind === "function" || kind === "custom";

/** A request that declares what the recorded model called. */
function request(door: DoorName, { calls }: Recording): Body {
  const names = new Map(calls.filter(isNamed).map((call) => [call.name, call.kind]));
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
): Promise<ClientAnswer & { readonly status: number }> =>
  readAnswer(
    door,
    await askWithin(here.served, door, {
      model: modelOf(recording),
      stream,
      ...request(door, recording),
    }),
  );

/** How a door says the end that was recorded. */
function stopAt(door: DoorName, { calls, finish }: Recording): string {
  if (finish === "length") return door === "chat" ? "length" : "max_output_tokens";
  if (door === "responses") return "completed";
  return calls.length > 0 ? "tool_calls" : "stop";
}

const wantedFrom = (recording: Recording, door: DoorName): object => ({
  text: recording.text,
  calls: recording.calls.filter((call) => door === "chat" || isNamed(call)).map(wantedCall),
  stop: stopAt(door, recording),
  error: undefined,
});

/** Chat has no built-in tools: a call of one is a call of a function by that name. */
const wantedCall = (call: Call): object =>
  isNamed(call)
    ? { ...call, complete: true }
    : { ...call, complete: true, kind: "function", input: sameJson(call.input) };

const sameJson = (text: string): unknown =>
  expect.toSatisfy((other: string) => isDeepStrictEqual(JSON.parse(other), JSON.parse(text)));

const isFailing = ({ finish }: Recording): boolean => finish === "failed" || finish === null;
/** Its pieces of text are not those of the whole that it ends with. */
const isTorn = ({ file }: Recording): boolean =>
  file === "openai-responses/openai-shell-container.1.chunks.txt";
const failing = recordings.filter(isFailing);
const sound = recordings.filter((recording) => !isFailing(recording) && !isTorn(recording));

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
  it.each(sound)("of openai take $file as chat", async (recording) => {
    const messages = [{ role: "user" as const, content: "Hi" }];
    const params = { messages, model: modelOf(recording), ...request("chat", recording) };
    const completion = await client().chat.completions.stream(params).finalChatCompletion();
    expect(readBody("chat", completion as Body)).toMatchObject(wantedFrom(recording, "chat"));
  });

  it.each(sound)("of openai take $file as responses", async (recording) => {
    const params = { input: "Hi", model: modelOf(recording), ...request("responses", recording) };
    const response = await client().responses.stream(params).finalResponse();
    expect(readBody("responses", response as Body)).toMatchObject(
      wantedFrom(recording, "responses"),
    );
  });

  // The ai package knows only functions over chat, and of built-in tools only OpenAI's own.
  const plain = sound.filter(
    ({ calls, itemTypes }) =>
      calls.every(({ kind }) => kind === "function") &&
      itemTypes.every((type) => ["message", "reasoning", "function_call"].includes(type)),
  );

  it.each(plain)("of ai take $file", async (recording) => {
    const calls = recording.calls.map(({ id, name, input }) => ({ id, name, input }));
    const wanted = { text: recording.text, calls, errors: [] };
    expect(await aiReads("chat", recording)).toEqual(wanted);
    expect(await aiReads("responses", recording)).toEqual(wanted);
  });
});

const client = (): OpenAI =>
  new OpenAI({
    baseURL: `${here.served.url}/v1`,
    apiKey: "unused",
    maxRetries: 0,
    fetch: here.served.fetch,
  });

type AiRead = { text: string; calls: unknown[]; errors: unknown[] };

/** What the ai package makes of a stream. */
async function aiReads(api: DoorName, recording: Recording): Promise<AiRead> {
  const provider = createOpenAI({
    baseURL: `${here.served.url}/v1`,
    apiKey: "unused",
    fetch: here.served.fetch,
  });
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

describe.skipIf(recordings.length === 0)("items that a provider worked on by itself", () => {
  const hosted = sound.filter(
    ({ dialect, itemTypes }) =>
      dialect === "responses" &&
      itemTypes.some((type) => !["message", "reasoning", "function_call"].includes(type)),
  );

  it.each(hosted)("are all in the responses door's answer to $file", async (recording) => {
    for (const stream of [true, false]) {
      const more = { model: modelOf(recording), stream };
      const text = await (await askWithin(here.served, "responses", more)).text();
      const response = (stream ? lastResponse(text) : JSON.parse(text)) as Body;
      const output = response["output"] as Body[];
      const types = output.map((item) => item["type"] as string);
      expect(types.toSorted()).toEqual(recording.itemTypes.toSorted());
      const saidOf = saidItems(recording);
      for (const item of output.filter(isHosted))
        expect(saidOf(item["id"] as string)).toContainEqual(unsealed(item));
    }
  });

  const isHosted = (item: Body): boolean =>
    !/^(?:message|reasoning|function_call|custom_tool_call)$/.test(item["type"] as string);
  const lastResponse = (text: string): unknown =>
    (JSON.parse(/^data: (.*"type":"response\.completed".*)$/m.exec(text)?.[1] ?? "{}") as Body)[
      "response"
    ];
  /** An item as it was said when it was done, and as it was repeated at the end. */
  const saidItems = ({ events }: Recording): ((id: string) => Body[]) => {
    const bodies = events.map((event) => JSON.parse(event) as Body);
    const items = bodies.flatMap((body) =>
      ([body["item"] ?? {}] as Body[]).concat((body["response"] ?? body)["output"] ?? []),
    );
    return (id) => items.filter((item) => item["id"] === id).map(unsealed);
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
    await using gateway = await serve({
      upstreams: { chat: { dialect: "chat", ...to }, responses: { dialect: "responses", ...to } },
    });
    const words = { message: expect.stringContaining(message) as string };
    const wanted = typeof status === "string" ? { ...words, code: status } : words;
    for (const dialect of doors)
      for (const door of doors)
        expect(
          await readAnswer(door, await askWithin(gateway, door, { model: `${dialect}/m` })),
        ).toMatchObject({
          status: http,
          error: wanted,
        });
  });
});
