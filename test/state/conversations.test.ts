import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { answerInChat, answerInResponses, chunk } from "../support/fake-model.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { cut, fakeUpstream, hang, sse, type Body } from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { socketClient } from "../support/socket-client.ts";

type Got = { readonly status: number; readonly body: Body };

async function ask(
  served: Pick<Served, "url">,
  method: string,
  path: string,
  body?: unknown,
  key = "ann",
): Promise<Got> {
  const response = await fetch(`${served.url}/v1${path}`, {
    method,
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

const textsOf = ({ body }: Got): unknown[] =>
  (body["data"] as Body[]).map((item) => item["content"]?.[0]?.text ?? item["type"]);
const user = (content: string): Body => ({ type: "message", role: "user", content });
const folder = mkdtempSync(join(tmpdir(), "patchbay-conversations-"));
afterAll(() => rmSync(folder, { recursive: true }));
const sayHello = { text: "Hello." };

describe("conversations", () => {
  it("are created, shown, changed and deleted, for their tenant alone", async () => {
    await using served = await serve({
      server: { keys: ["ann", "bob"].map((name) => ({ name, key: name })) },
    });
    const made = await ask(served, "POST", "/conversations", {
      metadata: { topic: "demo" },
      items: [user("Hello")],
    });
    const { id } = made.body;
    expect(made).toMatchObject({
      status: 200,
      body: { object: "conversation", metadata: { topic: "demo" } },
    });
    expect(await ask(served, "GET", `/conversations/${id}`)).toEqual(made);
    const changed = await ask(served, "POST", `/conversations/${id}`, { metadata: { a: "b" } });
    expect(changed.body).toEqual({ ...made.body, metadata: { a: "b" } });
    expect(await ask(served, "GET", `/conversations/${id}`)).toEqual(changed);
    const stranger = await ask(served, "GET", `/conversations/${id}`, undefined, "bob");
    const unknown = await ask(served, "GET", "/conversations/conv_unknown");
    expect(stranger.status).toBe(404);
    expect(JSON.stringify(stranger).replaceAll(id, "conv_unknown")).toBe(JSON.stringify(unknown));
    expect(await ask(served, "DELETE", `/conversations/${id}`)).toEqual({
      status: 200,
      body: { id, object: "conversation.deleted", deleted: true },
    });
    expect((await ask(served, "GET", `/conversations/${id}`)).status).toBe(404);
    expect((await ask(served, "GET", `/conversations/${id}/items`)).status).toBe(404);
    expect((await ask(served, "POST", "/conversations")).status).toBe(200);
  });

  it.each(["memory", "sqlite"] as const)(
    "refuse items with ids that no store can have: %s",
    async (kind) => {
      const path = join(folder, "ids.db");
      await using served = await serve({ store: kind === "memory" ? kind : { kind, path } });
      const made = await ask(served, "POST", "/conversations", {});
      const paths = ["/conversations", `/conversations/${made.body["id"]}/items`];
      for (const id of ["a\0b", "\ud800", "x".repeat(513)])
        for (const path of paths) {
          const items = [user("Fine"), { ...user("Hi"), id }];
          const refused = await ask(served, "POST", path, { items });
          const param = "items[1].id";
          expect(refused).toMatchObject({ status: 400, body: { error: { param } } });
        }
    },
  );

  it("have items that are added, listed in pages, shown and deleted", async () => {
    await using served = await serve({});
    const { id } = (await ask(served, "POST", "/conversations", {})).body;
    const items = ["one", "two", "three"].map(user);
    const added = await ask(served, "POST", `/conversations/${id}/items`, { items });
    expect(textsOf(added)).toEqual(["one", "two", "three"]);
    const path = `/conversations/${id}/items`;
    expect(textsOf(await ask(served, "GET", path))).toEqual(["three", "two", "one"]);
    const first = await ask(served, "GET", `${path}?order=asc&limit=2`);
    expect(first.body).toMatchObject({ object: "list", has_more: true });
    const after = await ask(served, "GET", `${path}?order=asc&after=${first.body["last_id"]}`);
    expect(textsOf(after)).toEqual(["three"]);
    const { first_id } = first.body;
    expect((await ask(served, "GET", `${path}/${first_id}`)).body).toMatchObject({
      id: first_id,
      role: "user",
      status: "completed",
    });
    expect((await ask(served, "DELETE", `${path}/${first_id}`)).body).toMatchObject({ id });
    expect((await ask(served, "GET", `${path}/${first_id}`)).status).toBe(404);
    expect((await ask(served, "DELETE", `${path}/${first_id}`)).status).toBe(404);
    expect(textsOf(await ask(served, "GET", path))).toEqual(["three", "two"]);
    for (const wrong of [{ items: "x" }, { items: [{ type: "message", role: "nobody" }] }, {}])
      expect(await ask(served, "POST", path, wrong)).toMatchObject({ status: 400 });
    const many = { items: Array.from({ length: 21 }, () => user("x")) };
    expect((await ask(served, "POST", path, many)).status).toBe(400);
    expect((await ask(served, "POST", `/conversations/${id}`, { metadata: { a: 1 } })).status).toBe(
      400,
    );
  });

  it("go on across models, upstreams and doors of the same tenant, and restarts", async () => {
    await using chat = await fakeUpstream(({ body }) => answerInChat(body, { text: "From chat." }));
    await using messages = await fakeUpstream(({ body }) =>
      answerInMessages(body, { text: "From Messages." }),
    );
    await using responses = await fakeUpstream(({ body }) =>
      answerInResponses(body, { text: "From Responses." }),
    );
    const config = {
      upstreams: {
        chat: { dialect: "chat", base_url: chat.url },
        messages: { dialect: "messages", base_url: messages.url },
        responses: { dialect: "responses", base_url: responses.url },
      },
      store: { kind: "sqlite", path: join(folder, "a", "store.db") },
    } as const;
    const id = await (async () => {
      await using served = await serve(config);
      const { id: made } = (await ask(served, "POST", "/conversations", {})).body;
      const first = { model: "chat/m", conversation: made, input: "One", store: false };
      const answer = await ask(served, "POST", "/responses", first);
      expect(answer.body).toMatchObject({ status: "completed", conversation: { id: made } });
      return made as string;
    })();
    await using served = await serve(config);
    const second = { model: "messages/m", conversation: { id }, input: "Two", stream: true };
    const stream = await fetch(`${served.url}/v1/responses`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(second),
    });
    expect(await stream.text()).toContain("response.completed");
    expect(messages.requests[0]?.text).toMatch(/One.*From chat\..*Two/);
    await using client = await socketClient(served.url);
    const third = await client.create({ model: "responses/m", conversation: id, input: "Three" });
    expect(third.at(-1)).toMatchObject({ type: "response.completed" });
    expect(responses.requests[0]?.text).toMatch(/One.*From chat\..*Two.*From Messages\..*Three/);
    expect(responses.requests[0]?.body["conversation"]).toBeUndefined();
    expect(textsOf(await ask(served, "GET", `/conversations/${id}/items?order=asc`))).toEqual([
      "One",
      "From chat.",
      "Two",
      "From Messages.",
      "Three",
      "From Responses.",
    ]);
  });

  it("take in turns that ended, and none that failed, were refused or were left", async () => {
    const hello = chunk(0, { role: "assistant", content: "Hello." });
    await using upstream = await fakeUpstream(({ body }, at) =>
      at === 0 ? sse(hello, cut) : at === 1 ? sse(hello, hang) : answerInChat(body, sayHello),
    );
    await using served = await serve(onto("chat", upstream.url));
    const { id } = (await ask(served, "POST", "/conversations", {})).body;
    const request = { model: "m", conversation: id, input: "Hi" };
    expect((await ask(served, "POST", "/responses", request)).status).toBe(502);
    await using client = await socketClient(served.url);
    client.send({ type: "response.create", ...request });
    await client.next();
    client.socket.terminate();
    await until(() => served.turns().length === 2);
    const wrong = { ...request, input: 7 };
    expect((await ask(served, "POST", "/responses", wrong)).status).toBe(400);
    const stray = { type: "function_call_output", call_id: "call_x", output: "" };
    expect((await ask(served, "POST", "/responses", { ...request, input: [stray] })).status).toBe(
      400,
    );
    const { status } = await ask(served, "POST", "/responses", request);
    expect(status).toBe(200);
    const items = await ask(served, "GET", `/conversations/${id}/items?order=asc`);
    expect(textsOf(items)).toEqual(["Hi", "Hello."]);
  });

  it("have one turn at a time", async () => {
    const { promise: go, resolve } = Promise.withResolvers<void>();
    await using upstream = await fakeUpstream(({ body }, at) => {
      const answer = answerInChat(body, sayHello);
      return at === 0 ? { ...answer, steps: [go, ...(answer.steps as string[])] } : answer;
    });
    await using served = await serve(onto("chat", upstream.url));
    const { id } = (await ask(served, "POST", "/conversations", {})).body;
    const request = { model: "m", conversation: id, input: "Hi" };
    const first = ask(served, "POST", "/responses", request);
    await until(() => upstream.requests.length === 1);
    expect(await ask(served, "POST", "/responses", request)).toMatchObject({
      status: 409,
      body: { error: { code: "conversation_locked" } },
    });
    resolve();
    expect((await first).status).toBe(200);
    expect((await ask(served, "POST", "/responses", request)).status).toBe(200);
    expect(upstream.requests).toHaveLength(2);
  });

  it("are refused together with an answer to continue, and where they are unknown", async () => {
    await using served = await serve({});
    const both = { model: "demo", input: "x", conversation: "conv_1", previous_response_id: "r" };
    expect(await ask(served, "POST", "/responses", both)).toMatchObject({
      status: 400,
      body: { error: { param: "conversation" } },
    });
    const unknown = { model: "demo", input: "x", conversation: "conv_1" };
    expect(await ask(served, "POST", "/responses", unknown)).toMatchObject({ status: 404 });
    await using off = await serve({ store: { kind: "off" } });
    expect((await ask(off, "POST", "/conversations", {})).status).toBe(400);
  });
});
