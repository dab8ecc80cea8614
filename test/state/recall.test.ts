import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { type DoorName } from "../support/client.ts";
import { answerInChat, answerInResponses } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";

const says = { chat: answerInChat, responses: answerInResponses };
const upstreamOf = (dialect: DoorName) =>
  fakeUpstream(({ body }) =>
    says[dialect](body, {
      text: "Hello.",
      calls: [{ id: "call_1", name: "f", arguments: '{"a":1}' }],
    }),
  );

/** An upstream that is known to keep its answers. */
const keeps = { capabilities: { params: { previousResponse: "previous_response_id" } } };

const send = (served: Served, body: Body, key = "one"): Promise<Response> =>
  fetch(`${served.url}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify({ model: "m", tools: [{ type: "function", name: "f" }], ...body }),
  });

const post = async (served: Served, body: Body, key = "one"): Promise<string> => {
  const response = await send(served, body, key);
  expect(response.status).toBe(200);
  return response.text();
};

/** The output of a first request, streamed or not. */
const outputOf = (text: string): Body[] => {
  const last = text.startsWith("{")
    ? text
    : (/^data: (\{"type":"response\.completed".*)$/m.exec(text)?.[1] ?? "{}");
  const body = JSON.parse(last) as Body;
  return (body["response"] ?? body)["output"] as Body[];
};

const references = (output: readonly Body[]): Body[] =>
  output.map(({ id }) => ({ type: "item_reference", id: id as string }));
const result = { type: "function_call_output", call_id: "call_1", output: "done" };

describe("a reference to an item of an earlier answer", () => {
  it.each([true, false])("stands for the item (stream: %s)", async (stream) => {
    await using upstream = await upstreamOf("chat");
    await using served = await serve(onto("chat", upstream.url));
    const output = outputOf(await post(served, { input: "Hi", stream }));
    await post(served, { input: [{ role: "user", content: "Hi" }, ...references(output), result] });
    expect(upstream.requests[1]?.body["messages"]).toMatchObject([
      { role: "user", content: "Hi" },
      {
        role: "assistant",
        content: "Hello.",
        tool_calls: [{ id: "call_1", function: { name: "f", arguments: '{"a":1}' } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "done" },
    ]);
  });

  it("stands for the item at an upstream of another dialect and in the straight lane too", async () => {
    await using chat = await upstreamOf("chat");
    await using own = await upstreamOf("responses");
    const to = { retries: 0 };
    await using served = await serve({
      upstreams: {
        chat: { dialect: "chat", base_url: chat.url, ...to },
        own: { dialect: "responses", base_url: own.url, ...to },
      },
    });
    const output = outputOf(await post(served, { model: "chat/m", input: "Hi" }));
    const input = [{ role: "user", content: "Hi" }, ...references(output), result];
    await post(served, { model: "own/m", input });
    expect(own.requests[0]?.body["input"]).toMatchObject([
      { role: "user", content: "Hi" },
      { type: "message", role: "assistant", content: [{ text: "Hello." }] },
      { type: "function_call", call_id: "call_1", name: "f", arguments: '{"a":1}' },
      result,
    ]);
  });

  it("stands for the item at an upstream that keeps its items itself, too", async () => {
    await using upstream = await upstreamOf("responses");
    await using served = await serve(onto("responses", upstream.url, keeps));
    const output = outputOf(await post(served, { input: "Hi" }));
    const user = { role: "user", content: "Hi" };
    await post(served, { input: [user, ...references(output), result] });
    expect(upstream.requests[1]?.body["input"]).toEqual([user, ...output, result]);
  });

  it("is nobody else's, and stands for nothing that was not to be kept", async () => {
    await using upstream = await upstreamOf("chat");
    await using served = await serve({
      server: { keys: ["one", "other"] },
      ...onto("chat", upstream.url),
    });
    const kept = outputOf(await post(served, { input: "Hi" }));
    const unkept = outputOf(await post(served, { input: "Hi", store: false }));
    const user = { role: "user", content: "Hi" };
    const refused = [
      await send(served, { input: [...references(kept), user] }, "other"),
      await send(served, { input: [...references(unkept), user] }),
    ];
    for (const [at, response] of refused.entries()) {
      expect(response.status).toBe(400);
      const id = String((at === 0 ? kept : unkept)[0]?.["id"]);
      expect(await response.json()).toEqual({
        error: {
          code: "item.not_found",
          message: `Item with id '${id}' not found; send the item itself in place of the reference.`,
          param: "input",
          type: "invalid_request_error",
        },
      });
    }
    expect(upstream.requests).toHaveLength(2);
  });
});

describe("a request with the items that it refers to", () => {
  const LIMIT = 20_000;
  const serveLong = async (url: string): Promise<Served> =>
    serve({ server: { body_limit: LIMIT }, ...onto("chat", url) });
  const ask = (served: Served, path: string, input: unknown): Promise<Response> =>
    fetch(`${served.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "m", input }),
    });

  it("is held to the limit of bodies, however often it refers to one", async () => {
    await using upstream = await fakeUpstream(({ body }) =>
      answerInChat(body, { text: "\u00e4".repeat(2000) }),
    );
    await using served = await serveLong(upstream.url);
    const [reference = {}] = references(outputOf(await post(served, { input: "Hi" })));
    for (const path of ["/v1/responses", "/v1/plan"]) {
      expect((await ask(served, path, Array(4).fill(reference))).status).toBe(200);
      const refused = await ask(served, path, Array(5).fill(reference));
      expect(refused.status).toBe(413);
      expect(await refused.json()).toMatchObject({
        error: {
          code: "request.too_large",
          param: "input",
          message: `With the items that it refers to, the request is larger than ${LIMIT} bytes; refer to fewer items, or raise \`server.body_limit\`.`,
        },
      });
    }
    expect(upstream.requests).toHaveLength(2);
  });
});

it("lets the AI SDK go on with a conversation, whatever the upstream", async () => {
  await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Hello." }));
  await using served = await serve(onto("chat", upstream.url));
  const model = createOpenAI({ baseURL: `${served.url}/v1`, apiKey: "none" }).responses("m");
  const messages: ModelMessage[] = [{ role: "user", content: "Hi" }];
  const { response } = await generateText({ model, messages });
  messages.push(...response.messages, { role: "user", content: "And?" });
  await generateText({ model, messages });
  expect(upstream.requests[1]?.body["messages"]).toEqual([
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello." },
    { role: "user", content: "And?" },
  ]);
});

describe("a conversation that the gateway keeps", () => {
  it("reaches a Responses upstream without the ids under which it was kept", async () => {
    await using chat = await upstreamOf("chat");
    await using own = await upstreamOf("responses");
    await using served = await serve({
      upstreams: {
        chat: { dialect: "chat", base_url: chat.url },
        own: { dialect: "responses", base_url: own.url },
      },
    });
    const first = JSON.parse(await post(served, { model: "chat/m", input: "Hi" })) as Body;
    const next = { model: "chat/m", input: [result], previous_response_id: first["id"] as string };
    const second = JSON.parse(await post(served, next)) as Body;
    const last = { input: "And?", previous_response_id: second["id"] as string };
    await post(served, { ...last, model: "own/m" });
    const sent = own.requests[0]?.body["input"] as Body[];
    expect(sent.map(({ type, id }) => [type, typeof id])).toEqual([
      ["message", "undefined"],
      ["message", "string"],
      ["function_call", "string"],
      ["function_call_output", "undefined"],
      ["message", "string"],
      ["function_call", "string"],
      ["message", "undefined"],
    ]);
  });
});
