import { describe, expect, it } from "vitest";
import { askWithin, upstreamDialects } from "../support/client.ts";
import {
  chunk,
  answerInChat,
  answerInResponses,
  wantedCalls,
  type FakeAnswer,
} from "../support/fake-model.ts";
import {
  cut,
  done,
  fakeUpstream,
  frame,
  json,
  sse,
  type Body,
  type Step,
} from "../support/fake-upstream.ts";
import { eventFaults, hasEvent, hasSchema, responseFaults } from "../support/open-responses.ts";
import { recordings, type Recording } from "../support/recordings.ts";
import { readResponsesEvents } from "../support/responses-reader.ts";
import { onto, serve, type Served } from "../support/serve.ts";

/** What is wrong with the answers to a request, streamed and whole. */
async function faultsIn(served: Served, more: object = {}): Promise<string[]> {
  const streamed = await (await askWithin(served, "responses", { ...more, stream: true })).text();
  const whole = await askWithin(served, "responses", { ...more, stream: false });
  const body = (await whole.json()) as Body;
  return [
    ...(readResponsesEvents(streamed) as { type: string }[]).flatMap((event) =>
      hasEvent(event.type) ? eventFaults(event) : [`there is no ${event.type}`],
    ),
    ...(whole.status === 200 ? responseFaults(body) : []),
  ];
}

const tools = [
  {
    type: "function",
    name: "get_weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
];
const city = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

const says: readonly [string, FakeAnswer][] = [
  ["text", { text: "Hello." }],
  ["a refusal", { refusal: "No." }],
  ["calls", { calls: wantedCalls }],
  ["text and calls", { text: "Let me see.", calls: wantedCalls }],
  ["a cut answer", { text: "Once upon", stop: "length" }],
  ["reasoning and text", { reasoning: "Hm, hm.", text: "Hello." }],
];

describe.skipIf(!hasSchema)("Open Responses", () => {
  it("would notice", () => {
    expect(responseFaults({ id: "resp_1" })).not.toEqual([]);
    expect(eventFaults({ type: "response.output_text.delta" })).not.toEqual([]);
    expect(hasEvent("response.invented")).toBe(false);
  });

  describe.each(upstreamDialects)("with a %s upstream", (dialect) => {
    it.each(says)("describes %s", async (_, say) => {
      await using upstream = await fakeUpstream(({ body }) =>
        dialect === "chat" ? answerInChat(body, say) : answerInResponses(body, say),
      );
      await using served = await serve(onto(dialect, upstream.url));
      expect(
        await faultsIn(served, { tools, instructions: "Be kind.", tool_choice: "auto" }),
      ).toEqual([]);
    });
  });

  it("describes failures", async () => {
    const half = [chunk(0, { role: "assistant", content: "Hel" }), chunk(0, { content: "lo" })];
    const ends: readonly Step[] = [cut, frame({ error: { message: "Busy.", code: null } }), done];
    for (const end of ends) {
      await using upstream = await fakeUpstream(() => sse(...half, end));
      await using served = await serve(onto("chat", upstream.url));
      expect(await faultsIn(served)).toEqual([]);
    }
  });

  it.each([
    ["text", {}],
    ["calls", { tools, input: "What is the weather in Paris?" }],
    ["a required call", { tools, tool_choice: "required" }],
    ["a chosen call", { tools, tool_choice: { type: "function", name: "get_weather" } }],
    ["JSON", { text: { format: { type: "json_object" } } }],
    ["a format", { text: { format: { type: "json_schema", name: "city", schema: city } } }],
    [
      "every parameter",
      {
        temperature: 0.5,
        top_p: 0.9,
        max_output_tokens: 3,
        max_tool_calls: 2,
        parallel_tool_calls: false,
        metadata: { a: "b" },
        store: false,
        truncation: "auto",
        user: "u",
        safety_identifier: "s",
        prompt_cache_key: "k",
        service_tier: "auto",
        reasoning: { effort: "low", summary: "auto" },
        top_logprobs: 2,
        presence_penalty: 0.1,
        frequency_penalty: 0.1,
      },
    ],
    [
      "a conversation",
      {
        input: [
          { role: "user", content: "What is the weather in Paris?" },
          {
            type: "function_call",
            call_id: "c1",
            name: "get_weather",
            arguments: '{"city":"Paris"}',
          },
          { type: "function_call_output", call_id: "c1", output: "Sunny." },
        ],
        tools,
      },
    ],
  ])("describes the demo's %s", async (_, more) => {
    await using served = await serve({});
    expect(await faultsIn(served, more)).toEqual([]);
  });
});

/** Open Responses leaves other tools, and their items, to those who have them. */
const plain = recordings.filter(
  ({ dialect, itemTypes, finish, events }) =>
    finish !== null &&
    finish !== "failed" &&
    (dialect === "chat" ||
      (itemTypes.every((type) => ["message", "reasoning", "function_call"].includes(type)) &&
        toolTypes(events[0] ?? "").every((type) => type === "function"))),
);

function toolTypes(event: string): string[] {
  const body = JSON.parse(event) as Body;
  const tools = ((body["response"] ?? body) as Body)["tools"] as Body[] | undefined;
  return (tools ?? []).map((tool) => tool["type"] as string);
}

describe.skipIf(!hasSchema || recordings.length === 0)("Open Responses, of recordings", () => {
  it.each(plain)("describes $file", async (recording) => {
    await using upstream = await fakeUpstream(() => replay(recording));
    await using served = await serve(onto(recording.dialect, upstream.url));
    expect(await faultsIn(served)).toEqual([]);
  });

  const replay = ({ streamed, events }: Recording) =>
    streamed ? sse(...events.map((event) => `data: ${event}\n\n`), done) : json(events[0]);
});
