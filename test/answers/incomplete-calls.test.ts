import { describe, expect, it } from "vitest";
import { named } from "../support/fake-model.ts";
import { json, sse, type Body, type Model } from "../support/fake-upstream.ts";
import { onto } from "../support/serve.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

const whole = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "look",
  arguments: '{"at":"a"}',
  status: "completed",
};
const cutOff = {
  ...whole,
  id: "fc_2",
  call_id: "call_2",
  name: "wipe",
  arguments: '{"path":"/tmp',
  status: "incomplete",
};
const outputs: Readonly<Record<string, readonly Body[]>> = {
  alone: [cutOff],
  last: [whole, cutOff],
  first: [cutOff, whole],
  // Arguments that parse make no call of one that its upstream calls incomplete.
  parsing: [{ ...cutOff, arguments: '{"path":"/tmp"}' }],
};

/** Completes an answer in which a call is incomplete; the model's name says where it stands. */
const model: Model = ({ body }) => {
  const output = outputs[String(body["model"])] ?? [];
  const response = {
    id: "resp_1",
    object: "response",
    created_at: 1_700_000_000,
    status: "completed",
    error: null,
    incomplete_details: null,
    model: "m",
    output,
    usage: { input_tokens: 3, output_tokens: 9, total_tokens: 12 },
  };
  if (body["stream"] !== true) return json(response);
  const events = output.flatMap((item, output_index) => [
    {
      type: "response.output_item.added",
      output_index,
      item: { ...item, arguments: "", status: "in_progress" },
    },
    {
      type: "response.function_call_arguments.delta",
      output_index,
      item_id: item["id"] as string,
      delta: item["arguments"] as string,
    },
    { type: "response.output_item.done", output_index, item },
  ]);
  const all = [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    ...events,
    { type: "response.completed", response },
  ];
  return sse(
    ...all.map((event, sequence_number) => named(Object.assign(event, { sequence_number }))),
  );
};
const here = sharedGateway(model, (url) => onto("responses", url));

const names = ["look", "wipe"];
const asked: Readonly<Record<string, readonly [path: string, body: Body]>> = {
  chat: [
    "/v1/chat/completions",
    {
      messages: [{ role: "user", content: "Hi" }],
      tools: names.map((name) => ({ type: "function", function: { name } })),
    },
  ],
  gemini: [
    "/v1beta/models/{model}:{action}",
    {
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      tools: [{ functionDeclarations: names.map((name) => ({ name })) }],
    },
  ],
  messages: [
    "/v1/messages",
    {
      max_tokens: 99,
      messages: [{ role: "user", content: "Hi" }],
      tools: names.map((name) => ({ name, input_schema: { type: "object" } })),
    },
  ],
};

const answerTo = async (door: string, more: Body): Promise<string> => {
  const [path = "", body] = asked[door] ?? [];
  const { model, stream } = more as { model: string; stream?: boolean };
  const action = stream === true ? "streamGenerateContent?alt=sse" : "generateContent";
  const place = path.replace("{model}", model).replace("{action}", action);
  const response = await fetch(here.served.url + place, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(door === "gemini" ? body : { ...body, ...more }),
  });
  expect(response.status).toBe(200);
  return response.text();
};

describe.each(Object.keys(outputs))("a call that is incomplete in an answer (%s)", (where) => {
  const calls = where === "alone" || where === "parsing" ? [] : ["call_1"];

  it("is none in a whole answer of Chat, which was cut off", async () => {
    const { choices } = JSON.parse(await answerTo("chat", { model: where })) as Body;
    const { message, finish_reason } = (choices as Body[])[0] ?? {};
    const made = ((message as Body)["tool_calls"] ?? []) as Body[];
    expect([finish_reason, made.map(({ id }) => id as string)]).toEqual(["length", calls]);
  });

  it("is none in a whole answer of Messages, which was cut off", async () => {
    const answer = JSON.parse(await answerTo("messages", { model: where })) as Body;
    const ids = (answer["content"] as Body[]).map(({ id }) => id as string);
    expect([answer["stop_reason"], ids]).toEqual(["max_tokens", calls]);
  });

  it("does not end a stream of Chat as calls do", async () => {
    const text = await answerTo("chat", { model: where, stream: true });
    expect(text.match(/"finish_reason":"\w+"/g)).toEqual(['"finish_reason":"length"']);
  });

  it.each([true, false])(
    "leaves no call in an answer of Gemini, whose clients run them all (stream: %s)",
    async (stream) => {
      const text = await answerTo("gemini", { model: where, stream });
      expect(text.match(/"finishReason":"\w+"/g)).toEqual(['"finishReason":"MAX_TOKENS"']);
      expect(text).not.toContain("functionCall");
    },
  );

  it("does not end a stream of Messages as calls do, and is not closed", async () => {
    const text = await answerTo("messages", { model: where, stream: true });
    expect(text.match(/"stop_reason":"\w+"/g)).toEqual(['"stop_reason":"max_tokens"']);
    expect(text.match(/event: content_block_stop/g) ?? []).toHaveLength(where === "last" ? 1 : 0);
  });
});
