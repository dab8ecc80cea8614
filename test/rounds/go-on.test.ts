import { describe, expect, it } from "vitest";
import { ask, readAnswer, readDoors } from "../support/client.ts";
import { geminiChunk, geminiFrame } from "../support/fake-gemini.ts";
import { answerInChat, chunk } from "../support/fake-model.ts";
import {
  cut,
  fakeUpstream,
  frame,
  sse,
  type Answer,
  type Body,
  type FakeUpstream,
  type Step,
} from "../support/fake-upstream.ts";
import { serve, type Served } from "../support/serve.ts";

const onto = (first: FakeUpstream, second: FakeUpstream): Promise<Served> =>
  serve({
    upstreams: {
      a: { dialect: "chat", base_url: first.url, retries: 0 },
      b: { dialect: "chat", base_url: second.url, retries: 0 },
    },
    models: { m: ["a/one", "b/two"] },
  });

const begun = chunk(0, { role: "assistant", content: "" });
const words = chunk(0, { content: "Hello, wor" });
const breaking = (...steps: string[]): Answer => sse(...steps, cut);
const finishing = (text: string) => fakeUpstream(({ body }) => answerInChat(body, { text }));

const json = { type: "json_object" };
/** Asks for JSON. */
const asJson = {
  chat: { response_format: json },
  responses: { text: { format: json } },
  gemini: { generationConfig: { responseMimeType: "application/json" } },
};

describe.each(readDoors)("an upstream that dies in mid-answer, at the %s door", (door) => {
  it("is gone on for by the next, without repeating what was shown", async () => {
    await using first = await fakeUpstream(() => breaking(begun, words));
    await using second = await finishing("ld!");
    await using served = await onto(first, second);
    const answer = await readAnswer(door, await ask(served, door, { stream: true }));
    expect([answer.text, answer.error]).toEqual(["Hello, world!", undefined]);
    const [asked] = second.requests;
    expect(asked?.body["messages"].slice(-2)).toMatchObject([
      { role: "assistant", content: "Hello, wor" },
      { role: "user" },
    ]);
    expect(served.turns()[0]).toMatchObject({ outcome: "completed", rounds: 2, upstream: "b/two" });
    expect(served.happenings).toContainEqual(
      expect.objectContaining({ type: "fallback", from: "a/one", to: "b/two" }),
    );
  });

  it("is asked for anew where the client has seen nothing", async () => {
    await using first = await fakeUpstream(() => breaking(begun));
    await using second = await finishing("All of it.");
    await using served = await onto(first, second);
    const streamed = await readAnswer(door, await ask(served, door, { stream: true }));
    expect([streamed.text, streamed.error]).toEqual(["All of it.", undefined]);
    expect(second.requests[0]?.body["messages"]).toHaveLength(1);
  });

  it("is asked for anew where a whole answer was wanted, also after calls", async () => {
    const call = chunk(0, {
      tool_calls: [
        { index: 0, id: "c", type: "function", function: { name: "f", arguments: "{" } },
      ],
    });
    await using first = await fakeUpstream(() => breaking(begun, words, call));
    await using second = await finishing("All of it.");
    await using served = await onto(first, second);
    const answer = await readAnswer(door, await ask(served, door, { stream: false }));
    expect([answer.text, answer.error]).toEqual(["All of it.", undefined]);
    expect(second.requests[0]?.body["messages"]).toHaveLength(1);
  });

  it("is not replaced after a call was shown", async () => {
    const call = chunk(0, {
      tool_calls: [
        { index: 0, id: "c", type: "function", function: { name: "f", arguments: "{" } },
      ],
    });
    await using first = await fakeUpstream(() => breaking(begun, call));
    await using second = await finishing("no");
    await using served = await onto(first, second);
    const answer = await readAnswer(door, await ask(served, door, { stream: true }));
    expect(answer.error).toMatchObject({ code: "upstream.cut" });
    expect(second.requests).toHaveLength(0);
  });

  it("is not replaced in the middle of a JSON text", async () => {
    await using first = await fakeUpstream(() => breaking(begun, chunk(0, { content: '{"a' })));
    await using second = await finishing("no");
    await using served = await onto(first, second);
    const more = asJson[door];
    const answer = await readAnswer(door, await ask(served, door, { stream: true, ...more }));
    expect(answer.error).toMatchObject({ code: "upstream.cut" });
  });

  it("is not replaced after a refusal was shown, so no other's answer ends as one", async () => {
    const refusing = chunk(0, { refusal: "I cannot" });
    await using first = await fakeUpstream(() => breaking(begun, refusing));
    await using second = await finishing("All of it.");
    await using served = await onto(first, second);
    const streamed = await readAnswer(door, await ask(served, door, { stream: true }));
    // Gemini's API has refusals as text.
    expect(streamed.text + streamed.refusal).toBe("I cannot");
    expect(streamed.error).toMatchObject({ code: "upstream.cut" });
    expect(second.requests).toHaveLength(0);
    const whole = await readAnswer(door, await ask(served, door, { stream: false }));
    expect([whole.text, whole.refusal]).toEqual(["All of it.", ""]);
  });

  it("fails with its own reason where the next one fails too", async () => {
    await using first = await fakeUpstream(() => breaking(begun, words));
    await using second = await fakeUpstream(() => breaking(begun));
    await using served = await onto(first, second);
    const answer = await readAnswer(door, await ask(served, door, { stream: true }));
    expect(answer.error).toMatchObject({ code: "upstream.cut" });
    expect(answer.text).toBe("Hello, wor");
  });
});

describe("a Messages client", () => {
  const asked = {
    model: "m",
    max_tokens: 99,
    stream: true,
    messages: [{ role: "user", content: "Hi" }],
  };
  const post = async (served: Served): Promise<string> => {
    const response = await fetch(`${served.url}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(asked),
    });
    return response.text();
  };

  it("is not told that a full answer is a refusal, since another's was cut off", async () => {
    await using first = await fakeUpstream(() => breaking(begun, chunk(0, { refusal: "I can" })));
    await using second = await finishing("All of it.");
    await using served = await onto(first, second);
    const text = await post(served);
    expect(text).toContain("event: error");
    expect(text).not.toContain('"stop_reason":"refusal"');
    expect(second.requests).toHaveLength(0);
  });
});

it("does not put what an upstream that broke off said beside its answer into the end of the next", async () => {
  const marked = frame({
    id: "chatcmpl-fake",
    created: 1_700_000_000,
    model: "fake-1",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: { content: "l" }, finish_reason: null, why: "refusal" }],
  });
  await using first = await fakeUpstream(() => breaking(begun, words, marked));
  await using second = await finishing(" there.");
  await using served = await onto(first, second);
  const text = await (await ask(served, "chat", { stream: true })).text();
  const ends = text.split("\n\n").filter((one) => one.includes('"finish_reason":"stop"'));
  expect(ends).toHaveLength(1);
  expect(ends[0]).not.toContain("refusal");
});

describe("an upstream that may pause its answers", () => {
  const saying = (...parts: readonly Body[]): string[] =>
    parts.map((part) => geminiFrame({ ...geminiChunk([part]), usageMetadata: undefined }));
  const paused = geminiFrame({
    ...geminiChunk([{ text: "" }], "CONTINUATION"),
    continuationToken: "t",
  });
  const inGemini = (first: FakeUpstream, second: FakeUpstream): Promise<Served> =>
    serve({
      upstreams: {
        a: { dialect: "gemini", base_url: first.url, retries: 0 },
        b: { dialect: "chat", base_url: second.url, retries: 0 },
      },
      models: { m: ["a/one", "b/two"] },
    });

  it.each([true, false])("is continued by the next (stream: %s)", async (stream) => {
    await using first = await fakeUpstream(() => sse(...saying({ text: "Hello, wor" }), cut));
    await using second = await finishing(stream ? "ld!" : "All of it.");
    await using served = await inGemini(first, second);
    const answer = await readAnswer("chat", await ask(served, "chat", { stream }));
    expect([answer.text, answer.error]).toEqual([
      stream ? "Hello, world!" : "All of it.",
      undefined,
    ]);
  });

  it("is not continued behind its pause", async () => {
    const rounds: Step[][] = [
      [...saying({ text: "One" }), paused],
      [...saying({ text: "Two" }), cut],
    ];
    await using first = await fakeUpstream((_, at) => sse(...(rounds[at] ?? [cut])));
    await using second = await finishing("More.");
    await using served = await inGemini(first, second);
    const answer = await readAnswer("chat", await ask(served, "chat", { stream: true }));
    expect(answer.error).toMatchObject({ code: "upstream.cut" });
    expect(answer.text).toBe("OneTwo");
    expect(second.requests).toHaveLength(0);
  });

  it("is continued in place of a call that was not delivered", async () => {
    const functionCall = { id: "c", name: "f", args: {} };
    await using first = await fakeUpstream(() =>
      sse(...saying({ text: "One" }, { functionCall }), cut),
    );
    await using second = await finishing(" and two.");
    await using served = await inGemini(first, second);
    const answer = await readAnswer("chat", await ask(served, "chat", { stream: true }));
    expect([answer.text, answer.calls, answer.error]).toEqual(["One and two.", [], undefined]);
  });
});
