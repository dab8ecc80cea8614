import { expect } from "vitest";
import type { Body } from "./fake-upstream.ts";
import { framesOf, type ClientAnswer } from "./client-answer.ts";

type ChatChoice = {
  text: string;
  refusal: string;
  reasoning: string;
  calls: { id: string; kind: string; name: string; input: string }[];
  finish: string | undefined;
  roles: number;
};

/** Every choice of a chat stream. */
function readChatChoices(text: string): {
  choices: ChatChoice[];
  error: Body | undefined;
  usage: Body | undefined;
} {
  const frames = framesOf(text);
  expect(frames.at(-1)?.data, "the last frame").toBe("[DONE]");
  const chunks = frames.slice(0, -1).map(({ data }) => JSON.parse(data) as Body);
  const error = chunks.at(-1)?.["error"] as Body | undefined;
  const said = error === undefined ? chunks : chunks.slice(0, -1);
  const choices: ChatChoice[] = [];
  let usage: Body | undefined;
  for (const [at, chunk] of said.entries()) {
    expect(chunk, "an error is the last chunk").not.toHaveProperty("error");
    expect(chunk).toMatchObject({ object: "chat.completion.chunk", id: said[0]?.["id"] });
    if (chunk["usage"]) usage = chunk["usage"] as Body;
    if (chunk["usage"] && chunk["choices"].length === 0)
      expect(at, "counts come last").toBe(said.length - 1);
    for (const one of chunk["choices"] as Body[]) {
      const index = one["index"] as number;
      readChatDelta((choices[index] ??= newChoice()), one);
    }
  }
  expect(Object.keys(choices).length, "choices are numbered without gaps").toBe(choices.length);
  for (const choice of choices) {
    expect(choice.roles, "the role is said once").toBe(1);
    if (error === undefined) expect(choice.finish, "every choice has its end").toBeDefined();
  }
  return { choices, error, usage };
}

const newChoice = (): ChatChoice => ({
  text: "",
  refusal: "",
  reasoning: "",
  calls: [],
  finish: undefined,
  roles: 0,
});

function readChatDelta(choice: ChatChoice, { delta, finish_reason }: Body): void {
  const words = [delta.content, delta.refusal, delta.reasoning_content, delta.reasoning];
  const speaks = words.some((word) => typeof word === "string" && word !== "") || delta.tool_calls;
  if (speaks) expect(choice.finish, "nothing is said after the end").toBeUndefined();
  if (delta.role !== undefined) choice.roles++;
  choice.text += delta.content ?? "";
  choice.refusal += delta.refusal ?? "";
  choice.reasoning += delta.reasoning_content ?? delta.reasoning ?? "";
  for (const entry of (delta.tool_calls ?? []) as Body[]) {
    const index = entry["index"] as number;
    const of = entry["function"] ?? entry["custom"] ?? {};
    const call = choice.calls[index];
    if (call === undefined) {
      expect(index, "calls are numbered without gaps").toBe(choice.calls.length);
      expect(entry["type"]).toMatch(/^(?:function|custom)$/);
      expect(entry["id"]).toMatch(/./);
      expect(of.name).toMatch(/./);
      const { id, type: kind } = entry as { id: string; type: string };
      choice.calls.push({ id, kind, name: of.name, input: of.arguments ?? of.input ?? "" });
      continue;
    }
    expect(entry, "an id is said once").not.toHaveProperty("id");
    expect(of, "a name is said once").not.toHaveProperty("name");
    call.input += of.arguments ?? of.input ?? "";
  }
  if (finish_reason === null || finish_reason === undefined) return;
  expect(choice.finish, "a choice ends once").toBeUndefined();
  choice.finish = finish_reason as string;
}

export function readChatStream(text: string): ClientAnswer {
  const { choices, error } = readChatChoices(text);
  const [choice = newChoice()] = choices;
  const complete = choice.finish === "tool_calls";
  return {
    text: choice.text,
    refusal: choice.refusal,
    reasoning: choice.reasoning,
    calls: choice.calls.map((call) => ({ ...call, complete })),
    stop: choice.finish ?? "",
    error,
  };
}

export function readChatBody(body: Body): ClientAnswer {
  const [choice] = body["choices"] as [Body];
  const { message, finish_reason } = choice as { message: Body; finish_reason: string };
  return {
    text: message["content"] ?? "",
    refusal: message["refusal"] ?? "",
    reasoning: message["reasoning_content"] ?? message["reasoning"] ?? "",
    calls: ((message["tool_calls"] ?? []) as Body[]).map((call) => ({
      id: call["id"] as string,
      kind: call["type"] as string,
      name: (call["function"] ?? call["custom"]).name as string,
      input: (call["function"]?.arguments ?? call["custom"]?.input) as string,
      complete: finish_reason === "tool_calls",
    })),
    stop: finish_reason,
    error: undefined,
  };
}
