import { APIError, type OpenAI } from "openai";
import { describe, expect, it } from "vitest";
import { clientOf } from "../sdk/gateway.ts";
import { answerInGemini } from "../support/fake-gemini.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat, answerInResponses, type FakeAnswer } from "../support/fake-model.ts";
import {
  cut,
  fakeUpstream,
  sse,
  type Answer,
  type Body,
  type FakeUpstream,
  type ReceivedRequest,
} from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";

const answers = {
  chat: ({ body }: ReceivedRequest, say: FakeAnswer) => answerInChat(body, say),
  responses: ({ body }: ReceivedRequest, say: FakeAnswer) => answerInResponses(body, say),
  messages: ({ body }: ReceivedRequest, say: FakeAnswer) => answerInMessages(body, say),
  gemini: ({ path }: ReceivedRequest, say: FakeAnswer) => answerInGemini(path, say),
};
type Dialect = keyof typeof answers;
const dialects = Object.keys(answers) as Dialect[];

/** Says one thing after another; an upstream that speaks Responses gives each answer an id of its own. */
const saying = (dialect: Dialect): Promise<FakeUpstream> =>
  fakeUpstream((request, at) => numbered(answers[dialect](request, { text: `Answer ${at}.` }), at));

const numbered = (answer: Answer, at: number): Answer => {
  const steps = [...(answer.steps as Iterable<string>)].map((step) =>
    step.replaceAll("resp_fake", `resp_fake_${at}`).replaceAll("msg_fake", `msg_fake_${at}`),
  );
  return { ...answer, steps };
};

const wordsOf = (body: Body): unknown =>
  JSON.stringify(body["messages"] ?? body["input"] ?? body["contents"]).match(
    /(?:Hi|Answer|And) ?\d?[^"]*/g,
  );

const error = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    return await promise;
  } catch (thrown) {
    return thrown instanceof APIError
      ? { status: thrown.status, code: thrown.code, param: thrown.param, message: thrown.message }
      : thrown;
  }
};

describe.each(dialects)("a response from a %s upstream", (dialect) => {
  it.each([true, false])("is retrieved as it was given (stream: %s)", async (stream) => {
    await using upstream = await saying(dialect);
    await using served = await serve(onto(dialect, upstream.url));
    const client = clientOf(served);
    const asked = { model: "m", input: "Hi", metadata: { a: "b" }, instructions: "Be brief." };
    const given = stream
      ? await client.responses.stream(asked).finalResponse()
      : await client.responses.create(asked);
    const found = await client.responses.retrieve(given.id);
    expect(found.output_text).toBe("Answer 0.");
    const { output_parsed: _, ...plain } = given as typeof given & { output_parsed?: unknown };
    expect(found).toMatchObject({
      ...plain,
      output: plain.output.map(({ id, type }) => ({ id, type })),
    });
  });

  it("is continued and forked, on every depth, without its instructions and tools", async () => {
    await using upstream = await saying(dialect);
    await using served = await serve(onto(dialect, upstream.url));
    const client = clientOf(served);
    const tools = [{ type: "function", name: "f", parameters: {}, strict: false } as const];
    const first = await client.responses.create({
      model: "m",
      input: "Hi 0",
      instructions: "Be brief.",
      tools,
    });
    const next = (
      previous_response_id: string,
      input: string,
    ): Promise<OpenAI.Responses.Response> =>
      client.responses.create({ model: "m", previous_response_id, input });
    const second = await next(first.id, "Hi 1");
    const third = await next(second.id, "Hi 2");
    await next(first.id, "Hi 3");
    expect(third.previous_response_id).toBe(second.id);
    expect(upstream.requests.map(({ body }) => wordsOf(body))).toEqual([
      ["Hi 0"],
      ["Hi 0", "Answer 0.", "Hi 1"],
      ["Hi 0", "Answer 0.", "Hi 1", "Answer 1.", "Hi 2"],
      ["Hi 0", "Answer 0.", "Hi 3"],
    ]);
    const later = JSON.stringify(upstream.requests.slice(1).map(({ body }) => body));
    expect(later).not.toContain("Be brief.");
    expect(upstream.requests[1]?.body["tools"] ?? []).toEqual([]);
    expect(upstream.requests[1]?.body["previous_response_id"]).toBeUndefined();
  });

  it("lists all that the model saw, page by page", async () => {
    await using upstream = await saying(dialect);
    await using served = await serve(onto(dialect, upstream.url));
    const client = clientOf(served);
    const first = await client.responses.create({ model: "m", input: "Hi 0" });
    const second = await client.responses.create({
      model: "m",
      previous_response_id: first.id,
      input: [{ role: "user", content: "Hi 1" }],
    });
    const textOf = (item: OpenAI.Responses.ResponseItem): string =>
      /"text":"([^"]*)"/.exec(JSON.stringify(item))?.[1] ?? "";
    const texts: string[] = [];
    for await (const item of client.responses.inputItems.list(second.id, { limit: 1 }))
      texts.push(textOf(item));
    expect(texts).toEqual(["Hi 1", "Answer 0.", "Hi 0"]);
    const rising = await client.responses.inputItems.list(second.id, { order: "asc" });
    expect(rising.data.map(textOf)).toEqual(["Hi 0", "Answer 0.", "Hi 1"]);
    expect(rising.data.every((item) => typeof item.id === "string")).toBe(true);
    expect(await error(client.responses.inputItems.list(second.id, { after: "x" }))).toMatchObject({
      status: 400,
      param: "after",
    });
    expect(await error(client.responses.inputItems.list(second.id, { limit: 0 }))).toMatchObject({
      status: 400,
      param: "limit",
    });
  });

  it("is known no more once it is deleted, and nothing of it if it was not to be stored", async () => {
    await using upstream = await saying(dialect);
    await using served = await serve(onto(dialect, upstream.url));
    const client = clientOf(served);
    const kept = await client.responses.create({ model: "m", input: "Hi" });
    const unkept = await client.responses.create({ model: "m", input: "Hi", store: false });
    await client.responses.delete(kept.id);
    for (const id of [kept.id, unkept.id]) {
      const words = { status: 404, message: `404 Response with id '${id}' not found.` };
      expect(await error(client.responses.retrieve(id))).toMatchObject(words);
      expect(await error(client.responses.delete(id))).toMatchObject(words);
      expect(await error(client.responses.inputItems.list(id))).toMatchObject(words);
      const going = { model: "m", input: "And?", previous_response_id: id };
      expect(await error(client.responses.create(going))).toMatchObject({
        status: 400,
        code: "previous_response_not_found",
        param: "previous_response_id",
      });
    }
    expect(upstream.requests).toHaveLength(2);
  });
});

describe("a response that is not all there", () => {
  it("is continued with what was complete when its upstream was cut", async () => {
    await using upstream = await fakeUpstream(({ body }, at) => {
      const answer = answerInChat(body, { text: "Answer 0." });
      return at === 0 ? sse(...[...(answer.steps as Iterable<string>)].slice(0, -3), cut) : answer;
    });
    await using served = await serve(onto("chat", upstream.url));
    const client = clientOf(served);
    let id = "";
    try {
      for await (const event of client.responses.stream({ model: "m", input: "Hi 0" }))
        if (event.type === "response.created") id = event.response.id;
    } catch {
      // The stream says itself that it failed.
    }
    expect(await client.responses.retrieve(id)).toMatchObject({
      status: "failed",
      error: { code: "upstream.cut" },
    });
    await client.responses.create({ model: "m", input: "Hi 1", previous_response_id: id });
    expect(wordsOf(upstream.requests[1]?.body ?? {})).toEqual(["Hi 0", "Answer 0.", "Hi 1"]);
  });

  it("is kept as cancelled when its client left", async () => {
    const { promise: never } = Promise.withResolvers<void>();
    await using upstream = await fakeUpstream(({ body }) => {
      const answer = answerInChat(body, { text: "Answer 0." });
      return sse(...[...(answer.steps as Iterable<string>)].slice(0, -3), never);
    });
    await using served = await serve(onto("chat", upstream.url));
    const client = clientOf(served);
    const stream = client.responses.stream({ model: "m", input: "Hi" });
    let id = "";
    for await (const event of stream) {
      if (event.type === "response.created") id = event.response.id;
      if (event.type === "response.output_text.delta") break;
    }
    stream.abort();
    await expect.poll(() => served.turns().length).toBe(1);
    expect(served.turns()[0]).toMatchObject({ outcome: "left", fault: undefined });
    expect(await client.responses.retrieve(id)).toMatchObject({ status: "cancelled" });
  });
});

describe("an id of another tenant", () => {
  it("is refused in the same words as one that never was", async () => {
    await using upstream = await saying("chat");
    await using served = await serve({
      server: { keys: ["one", "other"] },
      ...onto("chat", upstream.url),
    });
    const as = (apiKey: string): OpenAI => clientOf(served).withOptions({ apiKey });
    const { id } = await as("one").responses.create({ model: "m", input: "Hi" });
    const other = as("other").responses;
    const tries = (known: string) => [
      other.retrieve(known),
      other.delete(known),
      other.inputItems.list(known),
      other.create({ model: "m", input: "Hi", previous_response_id: known }),
    ];
    const foreign = await Promise.all(tries(id).map(error));
    const unknown = await Promise.all(tries("resp_none").map(error));
    expect(JSON.parse(JSON.stringify(foreign).replaceAll(id, "resp_none"))).toEqual(unknown);
    expect(await as("one").responses.retrieve(id)).toMatchObject({ id });
  });

  it.each([
    "' OR 1=1; --",
    "..%2f..",
    "\u0000",
    "x".repeat(100_000),
    "{id}",
    "__proto__",
    "*",
    "%",
  ])("is unknown whatever it looks like: %.20s", async (id) => {
    await using upstream = await saying("chat");
    await using served = await serve(onto("chat", upstream.url));
    const get = (path: string): Promise<Response> => fetch(`${served.url}/v1/responses/${path}`);
    const statuses = [400, 404, 414, 431];
    expect(statuses).toContain((await get(encodeURIComponent(id))).status);
    expect(statuses).toContain((await get(`${encodeURIComponent(id)}/input_items`)).status);
    const body = { model: "m", input: "Hi", previous_response_id: id };
    const response = await send(served, body);
    expect(response.status).toBe(400);
    expect(upstream.requests).toHaveLength(0);
  });
});

const send = (served: Served, body: Body): Promise<Response> =>
  fetch(`${served.url}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

describe("an upstream that keeps its answers", () => {
  const keeps = { capabilities: { params: { previousResponse: "previous_response_id" } } };

  it("is told the id of its own answer alone, and the whole conversation where it has forgotten it", async () => {
    let forgets = false;
    await using upstream = await fakeUpstream(({ body }, at) =>
      forgets && body["previous_response_id"] !== undefined
        ? {
            status: 404,
            headers: { "content-type": "application/json" },
            steps: ['{"error":{"code":"previous_response_not_found","message":"Not found."}}'],
          }
        : numbered(answerInResponses(body, { text: `Answer ${at}.` }), at),
    );
    await using served = await serve(onto("responses", upstream.url, keeps));
    const client = clientOf(served);
    const { id } = await client.responses.create({ model: "m", input: "Hi 0" });
    await client.responses.create({ model: "m", input: "Hi 1", previous_response_id: id });
    expect(upstream.requests[1]?.body).toMatchObject({
      previous_response_id: "resp_fake_0",
      input: "Hi 1",
    });
    forgets = true;
    await client.responses.create({ model: "m", input: "Hi 2", previous_response_id: id });
    const sent = upstream.requests.slice(2).map(({ body }) => wordsOf(body));
    expect(sent.at(-1)).toEqual(["Hi 0", "Answer 0.", "Hi 2"]);
  });

  it("is told nothing of what another upstream answered", async () => {
    await using chat = await saying("chat");
    await using own = await saying("responses");
    await using served = await serve({
      upstreams: {
        chat: { dialect: "chat", base_url: chat.url, retries: 0 },
        own: { dialect: "responses", base_url: own.url, retries: 0, ...keeps },
      },
    });
    const client = clientOf(served);
    const { id } = await client.responses.create({ model: "chat/m", input: "Hi 0" });
    const next = { model: "own/m", input: "Hi 1", previous_response_id: id };
    const second = await client.responses.create(next);
    expect(own.requests[0]?.body["previous_response_id"]).toBeUndefined();
    expect(wordsOf(own.requests[0]?.body ?? {})).toEqual(["Hi 0", "Answer 0.", "Hi 1"]);
    expect(second.previous_response_id).toBe(id);
  });
});

it("holds a conversation to the limit of bodies, whatever it is continued by", async () => {
  await using upstream = await fakeUpstream(({ body }) =>
    answerInChat(body, { text: "x".repeat(6000) }),
  );
  await using served = await serve({
    server: { body_limit: 16_000 },
    ...onto("chat", upstream.url),
  });
  const client = clientOf(served);
  const first = await client.responses.create({ model: "m", input: "Hi" });
  const next = { model: "m", input: "And?", previous_response_id: first.id };
  const second = await client.responses.create(next);
  const third = { model: "m", input: "And?", previous_response_id: second.id };
  expect(await error(client.responses.create({ ...third, input: "y".repeat(5000) }))).toMatchObject(
    {
      status: 413,
      code: "request.too_large",
    },
  );
});
