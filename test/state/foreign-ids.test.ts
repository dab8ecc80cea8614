import { describe, expect, it } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInResponses } from "../support/fake-model.ts";
import { fakeUpstream, type Body, type FakeUpstream } from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";

/** An upstream whose key all tenants share, and that keeps answers, items and threads itself. */
const responses = (): Promise<FakeUpstream> =>
  fakeUpstream(({ body }) => answerInResponses(body, { text: "Hello." }));
const messages = (): Promise<FakeUpstream> =>
  fakeUpstream(({ body }) => answerInMessages(body, { text: "Hello." }));
const keeps = { profile: "openai-responses" };
const keepsThreads = { profile: "anthropic" };

const two: ConfigInput = { server: { keys: ["one", "other"] } };
const oneTenant: ConfigInput = {
  server: {
    keys: [
      { name: "ann", key: "one" },
      { name: "ann", key: "other" },
    ],
  },
};

const send = (served: Served, path: string, body: Body, key = "other"): Promise<Response> =>
  fetch(`${served.url}/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify(body),
  });

const refusalOf = async (response: Response): Promise<unknown> => {
  const { error } = (await response.json()) as { error: Body | null };
  return [response.status, error?.["code"] ?? error?.["details"]?.["error_code"]];
};

/** What the upstream was sent last. */
const inputOf = ({ requests }: FakeUpstream): Body[] =>
  (requests.at(-1)?.body["input"] ?? []) as Body[];

const user = { role: "user", content: "Hi" };
const base = { model: "m", max_output_tokens: 9 };
const thread = (more: Body): Body => ({ model: "m", max_tokens: 9, messages: [user], ...more });

/** Ids of another tenant at the upstream, wherever a client of the Responses API can write one. */
const foreign: readonly (readonly [string, Body, string])[] = [
  [
    "previous_response_id",
    { input: "Hi", previous_response_id: "resp_a" },
    "previous_response_not_found",
  ],
  ["conversation", { input: "Hi", conversation: "conv_a" }, "conversation.not_found"],
  [
    "conversation object",
    { input: "Hi", conversation: { id: "conv_a" } },
    "conversation.not_found",
  ],
  ["item_reference", { input: [{ type: "item_reference", id: "msg_a" }, user] }, "item.not_found"],
  ["bare id", { input: [{ id: "msg_a" }, user] }, "item.not_found"],
  [
    "picture that is only an id",
    { input: [user, { type: "image_generation_call", id: "ig_a" }] },
    "item.not_found",
  ],
];

describe.each<[string, ConfigInput]>([
  ["in memory", { ...two, store: { kind: "memory" } }],
  ["off", { ...two, store: "off" }],
])("an id of another tenant at a shared upstream, with the store %s", (_, config) => {
  it.each(foreign)("is not passed on: %s", async (_, more, code) => {
    await using upstream = await responses();
    await using served = await serve({ ...onto("responses", upstream.url, keeps), ...config });
    const refused = await send(served, "responses", { ...base, ...more });
    expect(await refusalOf(refused)).toEqual([code.startsWith("conv") ? 404 : 400, code]);
    expect(upstream.requests).toEqual([]);
  });

  it.each<[string, Body]>([
    ["without a word", { summary: [] }],
    ["with empty words", { summary: [{ type: "summary_text", text: "" }], content: [] }],
    ["with other fields", { summary: [], encrypted_content: null, status: "completed", more: 1 }],
  ])("is left out as that of reasoning %s, and that is told", async (_, more) => {
    await using upstream = await responses();
    await using served = await serve({ ...onto("responses", upstream.url, keeps), ...config });
    const input = [user, { type: "reasoning", id: "rs_a", ...more }];
    const answer = await send(served, "responses", { ...base, input });
    expect(answer.status).toBe(200);
    expect(upstream.requests[0]?.text).not.toContain("rs_a");
    const plan = await send(served, "plan", { ...base, input });
    expect(await plan.text()).toContain(
      "reasoning that was sent only as the id of an item is left out",
    );
  });

  it("is not passed on as that of a thread", async () => {
    await using upstream = await messages();
    await using served = await serve({
      ...onto("messages", upstream.url, keepsThreads),
      ...config,
    });
    const body = thread({ thread: { type: "continue", previous_message_id: "msg_a" } });
    const refused = await send(served, "messages", body);
    expect(await refusalOf(refused)).toEqual([404, "thread_not_found"]);
    const counted = await send(served, "messages/count_tokens", body);
    expect(counted.status).toBe(404);
    expect(upstream.requests).toEqual([]);
  });
});

describe("where nothing is kept", () => {
  it.each(foreign)("one tenant has its upstream to itself: %s", async (_, more) => {
    await using upstream = await responses();
    await using served = await serve({
      ...onto("responses", upstream.url, {
        ...keeps,
        capabilities: { params: { conversation: "conversation" } },
      }),
      ...oneTenant,
      store: "off",
    });
    expect((await send(served, "responses", { ...base, ...more })).status).toBe(200);
    expect(upstream.requests[0]?.body).toMatchObject(more);
  });

  it("no thread begins that its client could not continue", async () => {
    await using upstream = await messages();
    const to = onto("messages", upstream.url, keepsThreads);
    await using shared = await serve({ ...to, ...two, store: "off" });
    await using own = await serve({ ...to, ...oneTenant, store: "off" });
    const body = thread({ thread: { type: "create" } });
    expect(await refusalOf(await send(shared, "messages", body))).toEqual([
      400,
      "thread_unsupported_request",
    ]);
    expect((await send(own, "messages", body)).status).toBe(200);
    expect(upstream.requests.map((request) => request.body["thread"] as unknown)).toEqual([
      { type: "create" },
    ]);
  });
});

describe("an id of another tenant that a client has given an item of its own", () => {
  const own = { type: "message", id: "msg_a", role: "user", content: "My own words." };
  const thought = {
    type: "reasoning",
    id: "msg_a",
    summary: [{ type: "summary_text", text: "x" }],
  };
  const reference = { type: "item_reference", id: "msg_a" };
  const bare = { type: "reasoning", id: "msg_a", summary: [] };

  it.each([
    ["reference", own, reference],
    ["reference to reasoning", thought, reference],
    ["reasoning that is only an id", thought, bare],
    ["reasoning that is only the id of a message", own, bare],
  ])("stands for that item: %s", async (_, planted, asked) => {
    await using upstream = await responses();
    await using served = await serve({ ...onto("responses", upstream.url, keeps), ...two });
    await send(served, "responses", { ...base, input: [user, planted] });
    for (let times = 0; times < 3; times++) {
      const answer = await send(served, "responses", { ...base, input: [asked, user] });
      expect(answer.status).toBe(200);
      const [first] = inputOf(upstream);
      expect(first).toMatchObject({ type: planted.type });
      expect(JSON.stringify(first)).toMatch(/My own words|"x"/);
    }
  });

  it.each([
    ["a reference", reference],
    ["reasoning that is only an id", bare],
  ])("does not come to an upstream by way of a conversation, as %s", async (_, item) => {
    await using upstream = await responses();
    await using served = await serve({ ...onto("responses", upstream.url, keeps), ...two });
    const made = await send(served, "conversations", { items: [item] });
    expect(await refusalOf(made)).toEqual([400, "item.not_found"]);
    const { id } = (await (await send(served, "conversations", {})).json()) as Body;
    const added = await send(served, `conversations/${String(id)}/items`, { items: [item] });
    expect(await refusalOf(added)).toEqual([400, "item.not_found"]);
    const conversation = String(id);
    await send(served, "responses", { ...base, input: [user, own], conversation });
    const again = await send(served, `conversations/${conversation}/items`, { items: [item] });
    expect(again.status).toBe(200);
    expect(await again.text()).toContain("My own words.");
  });
});

it("what a tenant's own answers held is passed on as ever", async () => {
  const answered = { type: "reasoning", id: "rs_1", summary: [] };
  await using upstream = await fakeUpstream(({ body }) => {
    const { steps } = answerInResponses({ ...body, stream: false }, { text: "Hello." });
    const [text = ""] = steps as Iterable<string>;
    const answer = JSON.parse(text) as Body;
    const output = [answered, ...(answer["output"] as Body[])];
    return {
      headers: { "content-type": "application/json" },
      steps: [JSON.stringify({ ...answer, output })],
    };
  });
  await using served = await serve({ ...onto("responses", upstream.url, keeps), ...two });
  await send(served, "responses", { ...base, input: "Hi" });
  for (const item of [answered, { type: "item_reference", id: "rs_1" }]) {
    const response = await send(served, "responses", { ...base, input: [user, item, user] });
    expect(response.status).toBe(200);
    expect(inputOf(upstream)[1]).toEqual(answered);
  }
});
