import { beforeEach, describe, expect, it } from "vitest";
import { chunk } from "../support/chat-frames.ts";
import { askWithin } from "../support/client.ts";
import { done, frame, json, sse, type Body } from "../support/fake-upstream.ts";
import { framesOf } from "../support/client-answer.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** What the upstream says in one message, in the pieces it comes in where it streams. */
let pieces: readonly Body[] = [];
const here = sharedGateway(({ body }) => {
  if (body["stream"] !== true) return json(whole(merged(pieces)));
  const frames = pieces.map((delta, at) => part(delta, at));
  return sse(...[...frames, part({}, Infinity, "stop")].map(frame), done);
});
beforeEach(() => {
  pieces = [];
  oddFrom = 0;
});

/** From which piece on frames have to be written anew for the client. */
let oddFrom = 0;
const part = (delta: Body, at = Infinity, finish: string | null = null): Body => ({
  ...chunk([{ index: 0, delta, finish_reason: finish }]),
  ...(at >= oddFrom && { object: "odd" }),
});
const whole = (message: Body): Body => ({
  ...chunk([{ index: 0, message, finish_reason: "stop" }]),
  object: "odd",
});

/** Pieces as one, as the client libraries of the API put them together. */
function merged(all: readonly Body[]): Body {
  const message: Body = {};
  for (const piece of all)
    for (const [key, value] of Object.entries(piece))
      message[key] = mergedValue(message[key], value);
  return message;
}

function mergedValue(before: unknown, value: unknown): unknown {
  if (before === undefined || before === null || value === null) return value ?? before;
  if (typeof before === "string") return before + (value as string);
  if (Array.isArray(before)) {
    const list = [...(before as Body[])];
    for (const entry of value as Body[]) {
      const at = list.findIndex(({ index }) => index !== undefined && index === entry["index"]);
      const { index: _, type: __, ...rest } = entry;
      if (at < 0) list.push(entry);
      else list[at] = merged([list[at] ?? {}, rest]);
    }
    return list;
  }
  return typeof before === "object" ? merged([before, value as Body]) : value;
}

/** What a chat client has heard as one message. */
async function heardByChat(stream: boolean, more: Body = {}): Promise<Body> {
  const response = await askWithin(here.served, "chat", { model: "chat/m", stream, ...more });
  const text = await response.text();
  if (!stream) return (JSON.parse(text) as Body)["choices"][0].message as Body;
  const chunks = framesOf(text).slice(0, -1);
  return merged(chunks.map(({ data }) => (JSON.parse(data) as Body)["choices"][0].delta as Body));
}

async function heardByResponses(stream: boolean): Promise<Body> {
  const response = await askWithin(here.served, "responses", { model: "chat/m", stream });
  const text = await response.text();
  if (!stream) return JSON.parse(text) as Body;
  const last = framesOf(text).findLast(({ event }) => event === "response.completed");
  return (JSON.parse(last?.data ?? "{}") as Body)["response"] as Body;
}

const thought = { reasoning_content: "Let me see." };
const signed: readonly [string, readonly Body[], Body][] = [
  [
    "details that are signed at their end",
    [
      { reasoning_details: [{ index: 0, type: "reasoning.text", text: "Let " }] },
      { reasoning_details: [{ index: 0, type: "reasoning.text", text: "me see." }] },
      { reasoning_details: [{ index: 0, type: "reasoning.text", signature: "c2ln" }] },
    ],
    {
      reasoning_details: [
        { index: 0, type: "reasoning.text", text: "Let me see.", signature: "c2ln" },
      ],
    },
  ],
  [
    "details that nobody can read",
    [{ reasoning_details: [{ index: 0, type: "reasoning.encrypted", data: "s3al" }] }],
    { reasoning_details: [{ index: 0, type: "reasoning.encrypted", data: "s3al" }] },
  ],
  [
    "blocks of thinking",
    [
      thought,
      { thinking_blocks: [{ type: "thinking", thinking: "Let me see.", signature: "c2ln" }] },
    ],
    { thinking_blocks: [{ type: "thinking", thinking: "Let me see.", signature: "c2ln" }] },
  ],
  ["an opaque text", [thought, { reasoning_opaque: "s3al" }], { reasoning_opaque: "s3al" }],
];

const called = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
const tools = [{ type: "function", name: "look" }];

describe.each([true, false])("where stream is %s", (stream) => {
  describe.each(signed)("reasoning with %s", (_, sent, expected) => {
    beforeEach(() => {
      pieces = [...sent, { content: "Hi" }];
    });

    it("reaches a chat client with them, and goes back with them", async () => {
      const message = await heardByChat(stream);
      expect(message).toMatchObject({ ...expected, content: "Hi" });
      const messages = [message, { role: "user", content: "Go on." }];
      // Says what has to be written anew for the upstream.
      await heardByChat(stream, { messages, tools, parallel_tool_calls: true });
      expect(here.upstream.requests.at(-1)?.body["messages"][0]).toMatchObject(expected);
    });

    it("goes back with them from a client of the Responses API", async () => {
      const { output } = await heardByResponses(stream);
      const input = [...(output as Body[]), { role: "user", content: "Go on." }];
      await (await askWithin(here.served, "responses", { model: "chat/m", input, stream })).text();
      expect(here.upstream.requests.at(-1)?.body["messages"][0]).toMatchObject(expected);
    });

    it("goes back with them where the model makes calls and says nothing", async () => {
      pieces = [...sent, { tool_calls: [{ ...called, index: 0 }] }];
      const { output } = await heardByResponses(stream);
      const result = { type: "function_call_output", call_id: "call_1", output: "there" };
      const input = [...(output as Body[]), result];
      await (await askWithin(here.served, "responses", { model: "chat/m", input, stream })).text();
      expect(here.upstream.requests.at(-1)?.body["messages"][0]).toMatchObject({
        ...expected,
        tool_calls: [called],
      });
    });
  });

  describe("sound", () => {
    const audio = { id: "audio_1", data: "QUJD", transcript: "Hi there", expires_at: 9 };
    beforeEach(() => {
      pieces = [
        { audio: { id: "audio_1", transcript: "Hi " } },
        { audio: { transcript: "there" } },
        { audio: { data: "QU" } },
        { audio: { data: "JD" } },
        { audio: { expires_at: 9 } },
      ];
    });

    it("reaches a chat client", async () => {
      expect(await heardByChat(stream)).toMatchObject({ audio });
    });

    it("is told once as what a client of the Responses API is not given", async () => {
      const { id, output } = await heardByResponses(stream);
      expect(output).toMatchObject([{ content: [{ text: "Hi there" }] }]);
      const plan = (await (
        await fetch(`${here.served.url}/v1/plans/${String(id)}`)
      ).json()) as Body;
      expect(plan["decisions"]).toEqual([
        {
          path: "output.choices[0]",
          action: "dropped",
          reason: "a responses answer has no form for `audio`",
        },
      ]);
    });
  });
});

describe("a stream that is left to be written anew in the midst of it", () => {
  it.each(signed)("says %s once", async (_, sent, expected) => {
    pieces = [{ role: "assistant", content: "" }, ...sent, { content: "Hi" }];
    for (oddFrom = 0; oddFrom <= pieces.length; oddFrom++)
      expect(await heardByChat(true), `from ${oddFrom}`).toMatchObject({
        ...expected,
        content: "Hi",
      });
  });
});
