import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { ask, doors, readAnswer } from "../support/client.ts";
import { json, sse, type Body, type Model } from "../support/fake-upstream.ts";
import { readGeminiStream } from "../support/gemini-reader.ts";
import { geminiRecordings, type GeminiRecording } from "../support/gemini-recordings.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** Plays the recording whose number is the model's name. */
const replay: Model = ({ path }) => {
  const [, model] = /\/models\/(\d+):/.exec(path) ?? [];
  const recording = geminiRecordings[Number(model)];
  if (recording === undefined) return json({ error: { message: "no such recording" } }, 404);
  return recording.streamed
    ? sse(...recording.data.map((data) => `data: ${data}\r\n\r\n`))
    : json(JSON.parse(recording.data[0] ?? "{}"));
};
const here = sharedGateway(replay);

const modelOf = (recording: GeminiRecording): string =>
  `gemini/${geminiRecordings.indexOf(recording)}`;

const wantedCalls = ({ calls }: GeminiRecording): unknown[] =>
  calls.map(({ name, arguments: input }) => ({ name, input: JSON.parse(input) as unknown }));

type Heard = { readonly text: string; readonly calls: readonly unknown[] };

async function heardAsClaude(recording: GeminiRecording, stream: boolean): Promise<Heard> {
  const client = new Anthropic({ baseURL: here.served.url, apiKey: "unused", maxRetries: 0 });
  const params = {
    model: modelOf(recording),
    max_tokens: 99,
    messages: [{ role: "user", content: "Go" }],
  } satisfies Anthropic.MessageCreateParams;
  const { content } = stream
    ? await client.messages.stream(params).finalMessage()
    : await client.messages.create(params);
  return {
    text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    calls: content.flatMap((block) =>
      block.type === "tool_use" ? [{ name: block.name, input: block.input }] : [],
    ),
  };
}

async function heardAsGemini(recording: GeminiRecording, stream: boolean): Promise<Heard> {
  const action = stream ? "streamGenerateContent?alt=sse" : "generateContent";
  const response = await fetch(`${here.served.url}/v1beta/models/${modelOf(recording)}:${action}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Go" }] }] }),
  });
  const text = await response.text();
  const chunks = stream ? readGeminiStream(text).chunks : [JSON.parse(text) as Body];
  const parts = chunks.flatMap(({ candidates }) => candidates[0].content.parts as Body[]);
  return {
    text: parts.map((part) => (part["thought"] === true ? "" : (part["text"] ?? ""))).join(""),
    calls: parts.flatMap(({ functionCall: call }) =>
      call === undefined ? [] : [{ name: call.name, input: call.args }],
    ),
  };
}

describe.skipIf(geminiRecordings.length === 0)("what Gemini really answered", () => {
  describe.each(geminiRecordings)("$file", (recording) => {
    const { text, usage } = recording;
    const {
      promptTokenCount: input = 0,
      candidatesTokenCount: said = 0,
      thoughtsTokenCount: reasoning = 0,
    } = usage;

    it.each(doors)("is what was recorded at the %s door", async (door) => {
      for (const stream of [true, false]) {
        const answer = await readAnswer(
          door,
          await ask(here.served, door, { model: modelOf(recording), stream }),
        );
        expect(answer).toMatchObject({ text, error: undefined, status: 200 });
        const calls = answer.calls.map((call) => ({
          name: call.name,
          input: JSON.parse(call.input) as unknown,
        }));
        expect(calls).toEqual(wantedCalls(recording));
        expect(new Set(answer.calls.map(({ id }) => id)).size).toBe(calls.length);
        expect(answer.calls.every(({ complete }) => complete)).toBe(true);
        const counts = { input, output: said + reasoning, reasoning };
        expect(here.served.turns().at(-1)?.usage).toMatchObject(counts);
      }
    });

    it("is what was recorded for the clients of Anthropic and Google", async () => {
      for (const stream of [true, false])
        for (const hear of [heardAsClaude, heardAsGemini])
          expect(await hear(recording, stream)).toEqual({ text, calls: wantedCalls(recording) });
    });
  });
});
