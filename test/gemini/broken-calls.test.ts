import { GoogleGenAI } from "@google/genai";
import { describe, expect, it } from "vitest";
import { received } from "../support/client-answer.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInGemini } from "../support/fake-gemini.ts";
import { answerInChat, answerInResponses, type FakeAnswer } from "../support/fake-model.ts";
import { cut, fakeUpstream, sse, type Answer, type Body } from "../support/fake-upstream.ts";
import { readGeminiStream } from "../support/gemini-reader.ts";
import { onto, serve } from "../support/serve.ts";

const call = { id: "call_1", name: "wipe", arguments: '{"disk":"é a"}' };
const say: FakeAnswer = { text: "So.", calls: [call] };
const asked = { stream: true, stream_options: { include_usage: true } };

type Back = "chat" | "responses" | "messages" | "gemini";
const answers: Readonly<Record<Back, (say: FakeAnswer) => Answer>> = {
  chat: (one) => answerInChat(asked, one),
  responses: (one) => answerInResponses(asked, one),
  messages: (one) => answerInMessages(asked, one),
  gemini: (one) => answerInGemini("/x:streamGenerateContent?alt=sse", one),
};
const backs = Object.keys(answers) as Back[];

const textOf = (answer: Answer): string => [...(answer.steps as Iterable<string>)].join("");
const streamOf = (back: Back, one = say): string => textOf(answers[back](one));

/** The sign of the end of an answer, by the dialect. */
const endings = {
  chat: '"finish_reason":"tool_calls"',
  responses: "event: response.completed",
  messages: "event: message_delta",
  gemini: '"finishReason":"STOP"',
} as const satisfies Record<Back, string>;

/** Where the frame begins that ends a good answer. */
const endOf = (back: Back, stream: string): number => {
  const at = stream.indexOf(endings[back]);
  return endings[back].startsWith("event") ? at : stream.lastIndexOf("data: ", at);
};

/** Streams whose arguments are no object, although the answer ends well. */
const malformed: Readonly<Record<Back, () => readonly string[]>> = {
  chat: () => ['{"disk":"é', '["disk"]'].map((input) => streamOf("chat", calling(input))),
  responses: () => ['{"disk":"é', '["disk"]'].map((input) => streamOf("responses", calling(input))),
  messages() {
    const frames = streamOf("messages").split(/(?<=\n\n)/);
    const last = frames.findLastIndex((frame) => frame.includes("input_json_delta"));
    return [frames.toSpliced(last, 1).join("")];
  },
  gemini: () => [
    streamOf("gemini").replace('"args":{"disk":"é a"}', '"args":["disk"]'),
    streamOf("gemini").replace('"STOP"', '"MALFORMED_FUNCTION_CALL"'),
    streamOf("gemini").replace('"STOP"', '"UNEXPECTED_TOOL_CALL"'),
  ],
};
const calling = (input: string): FakeAnswer => ({ calls: [{ ...call, arguments: input }] });

/** A gateway before an upstream that sends the bytes that it is told to. */
async function openOn(back: Back) {
  let next: Answer = sse();
  const upstream = await fakeUpstream(() => next);
  const served = await serve(onto(back, upstream.url));
  const { models } = new GoogleGenAI({ apiKey: "x", httpOptions: { baseUrl: served.url } });
  return {
    url: served.url,
    /** The calls that the SDK runs of an answer. */
    async ran(answer: Answer): Promise<number> {
      next = answer;
      let runs = 0;
      const tool = {
        tool: () => Promise.resolve({ functionDeclarations: [{ name: "wipe" }] }),
        callTool: () => {
          runs++;
          return Promise.reject(new Error("It ran."));
        },
      };
      const request = { model: "m", contents: "Hi", config: { tools: [tool] } };
      try {
        for await (const _ of await models.generateContentStream(request));
      } catch {
        return runs;
      }
      return runs;
    },
    /** What the strict reader reads of an answer. */
    async read(answer: Answer): Promise<ReturnType<typeof readGeminiStream>> {
      next = answer;
      const response = await fetch(`${served.url}/v1beta/models/m:streamGenerateContent?alt=sse`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          contents: [{ parts: [{ text: "Hi" }] }],
          tools: [{ functionDeclarations: [{ name: "wipe" }] }],
        }),
      });
      if (!response.ok)
        return { chunks: [], error: ((await response.json()) as Body)["error"] as Body };
      return readGeminiStream((await received(response)).text);
    },
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const callsIn = ({ chunks }: ReturnType<typeof readGeminiStream>): unknown[] =>
  chunks
    .flatMap(({ candidates }) => candidates as Body[])
    .flatMap(({ content }) => content["parts"] as Body[])
    .filter(({ functionCall }) => functionCall);

const bytes = new TextEncoder();

describe.each(backs)("a call of an upstream that speaks %s", (back) => {
  it("is run when the answer is whole", async () => {
    await using gateway = await openOn(back);
    expect(await gateway.ran(sse(streamOf(back)))).toBe(1);
    expect(callsIn(await gateway.read(sse(streamOf(back))))).toHaveLength(1);
  });

  it("is not run when the stream is cut, wherever that is", async () => {
    await using gateway = await openOn(back);
    const stream = streamOf(back);
    const whole = bytes.encode(stream);
    const end = bytes.encode(stream.slice(0, endOf(back, stream))).length;
    const from = bytes.encode(stream.slice(0, stream.indexOf("wipe"))).length;
    const ran: number[] = [];
    // Frames repeat, so a step that fits into none of them meets all of their places.
    for (let at = from - 40; at <= end; at += 7)
      if ((await gateway.ran(sse(whole.slice(0, at), cut))) > 0) ran.push(at);
    expect(ran).toEqual([]);
  }, 60_000);

  it("is not sent to any client when the stream is cut or ends early", async () => {
    await using gateway = await openOn(back);
    const stream = streamOf(back);
    const frames = stream.slice(0, endOf(back, stream)).split(/(?<=\n\r?\n)/);
    for (let count = 0; count < frames.length; count++)
      for (const step of [cut, ""] as const) {
        const read = await gateway.read(sse(frames.slice(0, count).join(""), step));
        expect(callsIn(read)).toEqual([]);
        expect(read.error).toMatchObject({ code: expect.any(Number) as number });
      }
  }, 60_000);

  it("is not run when the answer is cut off at its limit, or filtered", async () => {
    await using gateway = await openOn(back);
    const cutOff = streamOf(back, { ...say, stop: "length" });
    expect(await gateway.ran(sse(cutOff))).toBe(0);
    const read = await gateway.read(sse(cutOff));
    expect(callsIn(read)).toEqual([]);
    expect(read.chunks.at(-1)?.["candidates"][0].finishReason).toBe("MAX_TOKENS");
  });

  it("is not run when its arguments are malformed", async () => {
    await using gateway = await openOn(back);
    for (const stream of malformed[back]()) {
      expect(stream).not.toBe(streamOf(back));
      expect(await gateway.ran(sse(stream))).toBe(0);
      expect(callsIn(await gateway.read(sse(stream)))).toEqual([]);
    }
  });
});
