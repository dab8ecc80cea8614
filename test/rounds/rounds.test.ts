import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { createGateway, type Happening, type TurnStage } from "../../src/index.ts";
import { clientName } from "../../src/turn/names.ts";
import type { Item, Turn } from "../../src/turn/turn.ts";
import { fakeUpstream, hang } from "../support/fake-upstream.ts";

const HIDDEN = "look_up";

/**
 * Declares a tool of its own, answers its calls itself and asks again: what a
 * client must never see of it are those calls.
 */
function answersItself(turn: Turn): TurnStage {
  const added: Item[] = [];
  const hidden = new Map<number, { id: string; input: string }>();
  return {
    ask: (_, own) => ({
      ...own,
      items: [...turn.items, ...added],
      tools: [...own.tools, { type: "function", name: clientName(HIDDEN) }],
    }),
    each(event, emit) {
      if (event.type === "call-start" && event.name === HIDDEN)
        return void hidden.set(event.call, { id: event.id, input: "" });
      const call = "call" in event ? hidden.get(event.call) : undefined;
      if (call === undefined) return emit(event);
      if (event.type === "call-delta") call.input += event.text;
    },
    continues() {
      const calls = [...hidden.values()];
      hidden.clear();
      for (const { id, input } of calls) {
        const name = clientName(HIDDEN);
        const parts = [{ type: "text" as const, text: "found" }];
        added.push({ type: "call", id, kind: "function", name, input });
        added.push({ type: "result", call: id, kind: "function", parts });
      }
      return calls.length > 0;
    },
  };
}

const usage = { usage: { input: 10, output: 2 } };
const lookUp = [{ reasoning: "Hm." }, { call: { name: HIDDEN, arguments: { at: 1 } } }, usage];
const answer = [
  { text: "Here." },
  {
    calls: [
      { name: "act", arguments: { n: 1 } },
      { name: "act", arguments: { n: 2 } },
    ],
  },
  usage,
];

function setUp(...turns: unknown[][]) {
  const happenings: Happening[] = [];
  const gateway = createGateway(
    {
      upstreams: { s: { dialect: "scripted", script: { sequence: "requests", turns } } },
      models: { "*": "s/s" },
    },
    { stages: [answersItself], report: (happening) => void happenings.push(happening) },
  );
  const fetch = (input: unknown, init?: RequestInit): Promise<Response> =>
    gateway.fetch(new Request(input as string, init));
  const client = new OpenAI({ baseURL: "http://gateway/v1", apiKey: "none", maxRetries: 0, fetch });
  return { client, happenings };
}

const act = { name: "act", parameters: { type: "object", properties: { n: { type: "number" } } } };

const doors = {
  async chat(client: OpenAI, stream: boolean) {
    const body = {
      model: "m",
      messages: [{ role: "user" as const, content: "Go." }],
      tools: [{ type: "function" as const, function: act }],
    };
    const completion = stream
      ? await client.chat.completions
          .stream({ ...body, stream_options: { include_usage: true } })
          .finalChatCompletion()
      : await client.chat.completions.create(body);
    const [choice] = completion.choices;
    return {
      text: choice?.message.content,
      calls: choice?.message.tool_calls?.map(
        (call) => "function" in call && call.function.arguments,
      ),
      end: choice?.finish_reason,
      input: completion.usage?.prompt_tokens,
      output: completion.usage?.completion_tokens,
    };
  },
  async responses(client: OpenAI, stream: boolean) {
    const body = {
      model: "m",
      input: "Go.",
      tools: [{ type: "function" as const, strict: false, ...act }],
    };
    const response = stream
      ? await client.responses.stream(body).finalResponse()
      : await client.responses.create(body);
    return {
      text: response.output_text,
      calls: response.output.flatMap((item) =>
        item.type === "function_call" ? [item.arguments] : [],
      ),
      end: response.status === "completed" ? "tool_calls" : response.status,
      input: response.usage?.input_tokens,
      output: response.usage?.output_tokens,
    };
  },
};

describe.each(["chat", "responses"] as const)("a turn of three rounds at the %s door", (door) => {
  it.each([true, false])("is one answer with the counts of all (stream: %s)", async (stream) => {
    const { client, happenings } = setUp(lookUp, lookUp, answer);
    expect(await doors[door](client, stream)).toEqual({
      text: "Here.",
      calls: ['{"n":1}', '{"n":2}'],
      end: "tool_calls",
      input: 30,
      output: 6,
    });
    const turns = happenings.filter(({ type }) => type === "turn");
    expect(turns).toMatchObject([
      { outcome: "completed", rounds: 3, usage: { input: 30, output: 6 }, calls: { given: 2 } },
    ]);
  });

  it.each([true, false])("fails as its second round fails (stream: %s)", async (stream) => {
    const broken = [{ error: { status: 503, message: "Overloaded." } }];
    const { client, happenings } = setUp(lookUp, broken, answer);
    await expect(doors[door](client, stream)).rejects.toThrow(/Overloaded/);
    expect(happenings.filter(({ type }) => type === "turn")).toMatchObject([
      { outcome: "failed", rounds: 2, usage: { input: 10 } },
    ]);
  });

  it.each([true, false])("ends once where a later round is cut (stream: %s)", async (stream) => {
    const cut = [{ text: "He" }, { cut: true }];
    const { client } = setUp(lookUp, cut, answer);
    await expect(doors[door](client, stream)).rejects.toThrow(/closed the stream/);
  });
});

it.each([true, false])(
  "is cancelled in its second round at the upstream (stream: %s)",
  async (stream) => {
    const call = {
      index: 0,
      id: "c",
      type: "function",
      function: { name: HIDDEN, arguments: "{}" },
    };
    const frames = [
      { choices: [{ index: 0, delta: { role: "assistant", tool_calls: [call] } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
    ].map((frame) => `data: ${JSON.stringify({ id: "x", model: "m", ...frame })}\n\n`);
    await using upstream = await fakeUpstream((_, index) => ({
      headers: { "content-type": "text/event-stream" },
      steps: index === 0 ? [...frames, "data: [DONE]\n\n"] : [": waiting\n\n", hang],
    }));
    await using gateway = createGateway(
      { upstreams: { u: { dialect: "chat", base_url: upstream.url } }, models: { "*": "u/m" } },
      { stages: [answersItself] },
    );
    const abort = new AbortController();
    const asked = gateway.fetch(
      new Request("http://gateway/v1/chat/completions", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "m", stream, messages: [{ role: "user", content: "Go." }] }),
        signal: abort.signal,
      }),
    );
    await expect.poll(() => upstream.requests.length).toBe(2);
    abort.abort();
    await asked.then((response) => response.text()).catch(() => {});
    await upstream.requests[1]?.closed;
    expect(upstream.requests[1]?.abandoned()).toBe(true);
  },
);
