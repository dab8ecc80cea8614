import { describe, expect, it } from "vitest";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat, answerInResponses } from "../support/fake-model.ts";
import {
  fakeUpstream,
  type Answer,
  type Body,
  type FakeUpstream,
} from "../support/fake-upstream.ts";
import { readStream } from "../support/client.ts";
import { onto, serve, type Served } from "../support/serve.ts";

/** Says what it was asked last. These models give every answer, message and call the same id. */
const echoes = {
  chat: (body: Body) => answerInChat(body, { text: `You said ${lastOf(body["messages"])}.` }),
  responses: (body: Body) =>
    answerInResponses(body, { text: `You said ${lastOf(body["input"])}.` }),
  messages: (body: Body) =>
    answerInMessages(body, { text: `You said ${lastOf(body["messages"])}.` }),
} satisfies Record<string, (body: Body) => Answer>;

type UpstreamDialect = keyof typeof echoes;
const dialects = Object.keys(echoes) as UpstreamDialect[];

function lastOf(said: string | readonly Body[]): string {
  if (typeof said === "string") return said;
  const content = said.at(-1)?.["content"] as string | readonly Body[];
  return typeof content === "string" ? content : String(content[0]?.["text"]);
}

const echoing = (dialect: UpstreamDialect): Promise<FakeUpstream> =>
  fakeUpstream(({ body }) => echoes[dialect](body));

/** An upstream that is known to keep its answers. */
const keeps = { capabilities: { params: { previousResponse: "previous_response_id" } } };

const send = (served: Served, path: string, body: Body, key: string): Promise<Response> =>
  fetch(`${served.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify({ model: "m", ...body }),
  });

/** The response that a client was given, from a whole body or the last event of a stream. */
async function respond(served: Served, body: Body, key = "one"): Promise<Body> {
  const response = await send(served, "/v1/responses", body, key);
  const text = await response.text();
  expect([response.status, text]).toEqual([200, text]);
  if (text.startsWith("{")) return JSON.parse(text) as Body;
  readStream("responses", text);
  const ids = new Set(
    [...text.matchAll(/^data: (\{.*\})$/gm)].flatMap(
      ([, event]) => (JSON.parse(event ?? "{}") as Body)["response"]?.id ?? [],
    ),
  );
  expect(ids.size).toBe(1);
  const last = /^data: (\{"type":"response\.completed".*)$/m.exec(text)?.[1] ?? "{}";
  return (JSON.parse(last) as Body)["response"] as Body;
}

const get = async (served: Served, path: string): Promise<Body> => {
  const response = await fetch(`${served.url}${path}`, { headers: { "x-api-key": "one" } });
  return { status: response.status, ...((await response.json()) as Body) };
};

describe.each(dialects)("a %s upstream that gives every answer the same id", (dialect) => {
  it.each([true, false])("joins no two conversations of a tenant (stream: %s)", async (stream) => {
    await using upstream = await echoing(dialect);
    await using served = await serve({
      server: { keys: ["one"] },
      ...onto(dialect, upstream.url),
    });
    const ann = await respond(served, { input: "Ann's secret", stream });
    const bob = await respond(served, { input: "Bob's secret", stream });
    expect(ann["id"]).not.toBe(bob["id"]);

    const onwards = await respond(served, {
      input: "What did I say?",
      previous_response_id: ann["id"],
      stream,
    });
    const sent = upstream.requests.at(-1)?.text;
    expect(sent).toContain("Ann's secret");
    expect(sent).not.toContain("Bob's secret");
    expect(onwards["previous_response_id"]).toBe(ann["id"]);

    expect(await get(served, `/v1/responses/${ann["id"]}`)).toMatchObject({
      id: ann["id"],
      output: [{ content: [{ text: "You said Ann's secret." }] }],
    });
    expect(await get(served, `/v1/responses/${bob["id"]}/input_items`)).toMatchObject({
      data: [{ content: [{ text: "Bob's secret" }] }],
    });
    expect(await get(served, `/v1/plans/${ann["id"]}`)).toMatchObject({ id: ann["id"] });
  });
});

describe("an upstream that keeps its answers under ids of its own", () => {
  it.each([true, false])("is told its own id, and the client ours (stream: %s)", async (stream) => {
    await using upstream = await fakeUpstream(({ body }, at) => {
      const own = {
        id: `resp_own_${at}`,
        previous_response_id: body["previous_response_id"] ?? null,
      };
      const { steps, ...head } = echoes.responses(body);
      const text = [...(steps as string[])].map((step) =>
        step
          .replaceAll('"id":"resp_fake"', `"id":"${own.id}"`)
          .replaceAll(
            '"previous_response_id":null',
            `"previous_response_id":${JSON.stringify(own.previous_response_id)}`,
          ),
      );
      return { ...head, steps: text };
    });
    await using served = await serve({
      server: { keys: ["one"] },
      ...onto("responses", upstream.url, keeps),
    });
    const first = await respond(served, { input: "Hi", stream });
    expect(first["id"]).not.toBe("resp_own_0");
    const input = "And now?";
    const second = await respond(served, { input, previous_response_id: first["id"], stream });
    expect(upstream.requests[1]?.body).toMatchObject({
      input,
      previous_response_id: "resp_own_0",
    });
    expect(second["previous_response_id"]).toBe(first["id"]);
    expect(await get(served, `/v1/responses/${second["id"]}`)).toMatchObject({
      id: second["id"],
      previous_response_id: first["id"],
    });
    expect(served.turns().map((turn) => turn.straight)).toEqual([true, true]);
    // The upstream's id opens nothing here.
    expect(await get(served, "/v1/responses/resp_own_0")).toMatchObject({ status: 404 });
    const guessed = await send(
      served,
      "/v1/responses",
      { input, previous_response_id: "resp_own_0" },
      "one",
    );
    expect(guessed.status).toBe(400);
  });
});

it("gives no two stored completions the same id", async () => {
  await using upstream = await echoing("chat");
  await using served = await serve({ server: { keys: ["one"] }, ...onto("chat", upstream.url) });
  const completions = await Promise.all(
    ["Ann's secret", "Bob's secret"].map(async (content) => {
      const messages = [{ role: "user", content }];
      const answer = await send(served, "/v1/chat/completions", { messages, store: true }, "one");
      return (await answer.json()) as Body;
    }),
  );
  const kept = await Promise.all(
    completions.map(({ id }) => get(served, `/v1/chat/completions/${id}`)),
  );
  expect(kept.map(({ choices }) => choices[0].message.content)).toEqual([
    "You said Ann's secret.",
    "You said Bob's secret.",
  ]);
});
