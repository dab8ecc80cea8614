import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { readBundle } from "../../src/observe/recording/bundle.ts";
import { explain } from "../../src/observe/recording/explain.ts";
import { replayBundle } from "../../src/observe/recording/replay/replay.ts";
import { answerInChat, answerInResponses } from "../support/fake-model.ts";
import { cut, fakeUpstream, sse, type Model, type Step } from "../support/fake-upstream.ts";
import { anyAnswer, anyWireForm, wireBytes, type WireForm } from "../support/random-answers.ts";
import { onto } from "../support/serve.ts";
import { geminiRecordings } from "../support/gemini-recordings.ts";
import { messagesRecordings } from "../support/messages-recordings.ts";
import { anyMessagesStream, namedFrames, type MessagesStream } from "./messages-streams.ts";
import { recordedGateway } from "./recorded-gateway.ts";
import { eventsOf, maskChunks, shapes } from "./read-wire.ts";

const bytesIn = (stream: MessagesStream, how: WireForm): Buffer[] =>
  wireBytes(namedFrames(stream), how).map((bytes) => Buffer.from(bytes));

describe("masked streams of Messages", () => {
  it("are read as the same events, whatever they say, however they end and are split", () => {
    fc.assert(
      fc.property(anyMessagesStream, anyWireForm, (stream, how) => {
        const chunks = bytesIn(stream, how);
        const masked = maskChunks(chunks);
        expect(masked.map(({ length }) => length)).toEqual(chunks.map(({ length }) => length));
        expect(shapes(eventsOf("messages", masked))).toEqual(shapes(eventsOf("messages", chunks)));
      }),
      { numRuns: 150 },
    );
  });

  it("are as they were where content is full and no key is in them", () => {
    fc.assert(
      fc.property(anyMessagesStream, anyWireForm, (stream, how) => {
        const chunks = bytesIn(stream, how);
        expect(maskChunks(chunks, "full")).toEqual(chunks);
      }),
      { numRuns: 100 },
    );
  });

  it("split anywhere have the same bytes", () => {
    fc.assert(
      fc.property(anyMessagesStream, anyWireForm, (stream, how) => {
        const chunks = bytesIn(stream, how);
        const whole = maskChunks([Buffer.concat(chunks)]);
        expect(Buffer.concat(maskChunks(chunks))).toEqual(Buffer.concat(whole));
      }),
      { numRuns: 100 },
    );
  });

  it("keep what they are behind a byte order mark, streamed and whole", () => {
    const stream = Buffer.from("\ufeffevent: ping\ndata: {}\n\n");
    expect(maskChunks([stream])).toEqual([stream]);
    const whole = Buffer.from('\ufeff{"type":"message","role":"assistant","content":[]}');
    expect(maskChunks([whole])).toEqual([whole]);
  });

  it.skipIf(messagesRecordings.length === 0).each(messagesRecordings)(
    "$file is read as the same events",
    ({ streamed, data }) => {
      const text = streamed ? data.map((one) => `data: ${one}\n\n`).join("") : (data[0] ?? "");
      const bytes = Buffer.from(text);
      const masked = maskChunks([bytes]);
      expect(shapes(eventsOf("messages", masked))).toEqual(shapes(eventsOf("messages", [bytes])));
    },
  );
});

it.skipIf(geminiRecordings.length === 0).each(geminiRecordings)(
  "a masked answer of Gemini is read as the same events: $file",
  ({ streamed, data }) => {
    const text = streamed ? data.map((one) => `data: ${one}\n\n`).join("") : (data[0] ?? "");
    const masked = maskChunks([Buffer.from(text)]);
    const events = eventsOf("gemini", [Buffer.from(text)]);
    expect(shapes(eventsOf("gemini", masked))).toEqual(shapes(events));
  },
);

const names = ["look", "find", "read_file"];
const parameters = { type: "object", properties: { city: { type: "string" } } };
const said = "Wie groß ist 東京都? 🙂";
const requests = {
  chat: {
    path: "/v1/chat/completions",
    body: {
      messages: [{ role: "user", content: said }],
      tools: names.map((name) => ({ type: "function", function: { name, parameters } })),
    },
  },
  responses: {
    path: "/v1/responses",
    body: {
      input: said,
      tools: names.map((name) => ({ type: "function", name, parameters })),
    },
  },
  messages: {
    path: "/v1/messages",
    body: {
      max_tokens: 2000,
      thinking: { type: "enabled", budget_tokens: 1024 },
      messages: [{ role: "user", content: said }],
      tools: names.map((name) => ({ name, input_schema: parameters })),
    },
  },
} as const;
type Door = keyof typeof requests;
type Content = "masked" | "full";

/** Records turns of a gateway in front of one upstream, and replays each. */
async function replaying(dialect: Door, content: Content) {
  let model: Model = () => sse();
  const upstream = await fakeUpstream((request, at) => model(request, at));
  const test = recordedGateway({
    ...onto(dialect, upstream.url),
    telemetry: { recording: "all" },
    recording: { content, keep: { turns: 1 } },
  });
  return {
    /** The first difference, and what the gateway is blamed for. */
    async turn(door: Door, stream: boolean, next: Model) {
      model = next;
      const { path, body } = requests[door];
      await test.ask(path, { model: "m", stream, ...body });
      const bundle = readBundle(test.bundles().at(-1) ?? "");
      const platform = nodePlatform();
      const { difference } = await replayBundle(bundle, { platform, paced: false });
      const { verdict } = explain(bundle);
      return { difference, ours: verdict.fault === "gateway" ? verdict.reason : undefined };
    },
    async [Symbol.asyncDispose]() {
      await test[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

describe.each(["masked", "full"] as const)("a recorded turn (%s)", (content) => {
  it.each(["chat", "responses", "messages"] as const)(
    "of a Messages upstream at the %s door replays the same, whatever came",
    async (door) => {
      await using gateway = await replaying("messages", content);
      await fc.assert(
        fc.asyncProperty(
          anyMessagesStream,
          anyWireForm,
          fc.boolean(),
          async (said, how, stream) => {
            const ends: Step[] = said.severed ? [cut] : [];
            const outcome = await gateway.turn(door, stream, () =>
              sse(...bytesIn(said, how), ...ends),
            );
            expect(outcome).toEqual({ difference: undefined, ours: undefined });
          },
        ),
        { numRuns: 20 },
      );
    },
    60_000,
  );

  it.each(["chat", "responses"] as const)(
    "of a %s upstream at the Messages door replays the same, whatever came",
    async (dialect) => {
      await using gateway = await replaying(dialect, content);
      const answer = dialect === "chat" ? answerInChat : answerInResponses;
      await fc.assert(
        fc.asyncProperty(anyAnswer, fc.boolean(), async ({ text, reasoning, calls }, stream) => {
          const say = {
            ...(text !== "" && { text }),
            ...(reasoning !== "" && { reasoning }),
            calls: calls.map(({ name, args }, at) => ({ id: `call_${at}`, name, arguments: args })),
          };
          const outcome = await gateway.turn("messages", stream, ({ body }) => answer(body, say));
          expect(outcome).toEqual({ difference: undefined, ours: undefined });
        }),
        { numRuns: 12 },
      );
    },
    60_000,
  );
});
