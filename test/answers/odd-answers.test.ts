import { describe, expect, it } from "vitest";
import { chunk, role, stop, text } from "../support/chat-frames.ts";
import { askWithin, doors, readAnswer } from "../support/client.ts";
import { done, frame, json, sse, type Answer } from "../support/fake-upstream.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

let answer: Answer;
const here = sharedGateway(() => answer);

const call = { id: "call_1", kind: "function", name: "look", input: '{"at":1}', complete: true };
const toolUse = { type: "tool_use", id: "call_1", name: "look", input: { at: 1 } };
const said = (...messages: unknown[]): string[] =>
  messages.map((message) => frame(chunk([{ index: 0, message, finish_reason: null }])));
const lookAt = (text: string): unknown => ({
  tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: text } }],
});
const whole = (choice: unknown): Answer => json({ ...chunk([]), choices: [choice] });

/** Answers in odd forms, and what they say. */
const odd: readonly [string, Answer, string, readonly unknown[]][] = [
  [
    "messages that grow in place of deltas",
    sse(...said({ content: "He" }, { content: "Hello" }, { content: "Hello." }), frame(stop), done),
    "Hello.",
    [],
  ],
  [
    "messages in pieces in place of deltas",
    sse(...said({ content: "ha" }, { content: " ho" }), frame(stop), done),
    "ha ho",
    [],
  ],
  [
    "messages of calls that grow",
    sse(...said(lookAt('{"at'), lookAt('{"at":1}'), lookAt('{"at":1}')), frame(stop), done),
    "",
    [call],
  ],
  [
    "messages of calls in pieces",
    sse(...said(lookAt('{"at'), lookAt('":1}')), frame(stop), done),
    "",
    [call],
  ],
  [
    "a call in both forms",
    whole({ index: 0, message: { content: [toolUse], ...(lookAt('{"at":1}') as object) } }),
    "",
    [call],
  ],
  [
    "one choice by another number",
    sse(
      ...[{ role: "assistant" }, { content: "H" }, { content: "i" }].map((fields) =>
        frame(chunk([{ index: 1, delta: fields, finish_reason: null }])),
      ),
      frame(chunk([{ index: 1, delta: {}, finish_reason: "stop" }])),
      done,
    ),
    "Hi",
    [],
  ],
  [
    "one whole choice by another number",
    whole({ index: 7, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }),
    "Hi",
    [],
  ],
];

describe.each(doors)("at the %s door", (door) => {
  describe.each([true, false])("where stream is %s", (stream) => {
    it.each(odd)("%s are the answer they mean", async (_, sent, words, calls) => {
      answer = sent;
      const heard = await readAnswer(
        door,
        await askWithin(here.served, door, { model: "chat/m", stream }),
      );
      expect(heard).toMatchObject({ status: 200, text: words, calls, error: undefined });
    });

    it.each([{}, { output: null }, { output: [], object: "response" }])(
      "a response that is only its text is that text",
      async (more) => {
        answer = json({ id: "resp_1", output_text: "Hi", ...more });
        const heard = await readAnswer(
          door,
          await askWithin(here.served, door, { model: "responses/m", stream }),
        );
        expect(heard).toMatchObject({ status: 200, text: "Hi", error: undefined });
      },
    );

    it("an answer whose upstream says behind its end that it failed is no success", async () => {
      const error = { message: "The engine died.", code: "internal_error" };
      answer = sse(...[role, text("Hi"), stop, { error }].map(frame), done);
      const said = await readAnswer(
        door,
        await askWithin(here.served, door, { model: "chat/m", stream }),
      );
      expect(said.error).toMatchObject({ message: expect.stringContaining("The engine died.") });
      expect(said.stop).not.toBe("stop");
      expect(said.stop).not.toBe("completed");
    });
  });
});
