import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, json, type Body } from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";

const gateway = openGateway(
  parseConfig({ store: "memory", upstreams: { demo: { dialect: "scripted" } } }),
  nodePlatform(),
);

async function post(path: string, body: object): Promise<{ status: number; id: string }> {
  const response = await gateway.fetch(
    new Request(`http://here/v1${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  const { id } = (await response.json()) as { id: string };
  return { status: response.status, id };
}

const seal = { type: "compaction", encrypted_content: "pbs1.c29tZWJvZHkgZWxzZSdz" };

it.each([
  ["a plan of a request to it", "/plan", {}, 200],
  ["a count of its tokens", "/responses/input_tokens", {}, 200],
  ["a compaction", "/responses/compact", {}, 200],
  ["a compaction by an unknown model", "/responses/compact", { model: "no-such/model" }, 404],
  ["a compaction that asks for what there is not", "/responses/compact", { input: 7 }, 400],
  ["a turn with an unknown model", "/responses", { model: "no-such/model" }, 404],
  ["a turn with a seal that cannot be opened", "/responses", { input: [seal] }, 400],
  ["a plan with a seal that cannot be opened", "/plan", { input: [seal] }, 400],
])("a conversation is free after %s", async (_, path, body, status) => {
  const { id: conversation } = await post("/conversations", {});
  const request = { model: "demo/demo", conversation, input: "Hi" };
  expect((await post(path, { ...request, ...body })).status).toBe(status);
  expect((await post("/responses", request)).status).toBe(200);
});

describe("with SQLite", () => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-leases-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const fresh = (name: string, upstream: string) => {
    const path = join(folder, `${name}.db`);
    return {
      path,
      config: { ...onto("chat", upstream), store: { kind: "sqlite" as const, path } },
    };
  };
  const ask = async (
    served: Served,
    at: string,
    body?: object,
  ): Promise<[number, Body, Headers]> => {
    const response = await fetch(`${served.url}/v1${at}`, {
      ...(body !== undefined && {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "m", ...body }),
      }),
    });
    return [response.status, (await response.json()) as Body, response.headers];
  };

  it("a conversation is free at once when the upstream refused its turn", async () => {
    await using upstream = await fakeUpstream(({ body }, index) =>
      index % 2 === 0
        ? json({ error: { message: "No." } }, 400)
        : answerInChat(body, { text: "Fine." }),
    );
    await using served = await serve(fresh("refused", upstream.url).config);
    const [, { id: conversation }] = await ask(served, "/conversations", {});
    for (let turn = 0; turn < 5; turn++) {
      const refused = await ask(served, "/responses", { conversation, input: "Hi" });
      expect(refused[0]).toBe(400);
      const next = await ask(served, "/responses", { conversation, input: "Hi" });
      expect(next[0]).toBe(200);
    }
  });

  it("a conversation takes in no turn whose lease another has taken meanwhile", async () => {
    let takeOver = (): void => {};
    await using upstream = await fakeUpstream(({ body }, index) => {
      if (index === 0) takeOver();
      return answerInChat(body, { text: `Answer ${index}.` });
    });
    const { path, config } = fresh("lost", upstream.url);
    await using served = await serve(config);
    const [, { id: conversation }] = await ask(served, "/conversations", {});
    // As a process would that found the lease over, took in a turn, and let go.
    takeOver = () => {
      const database = new DatabaseSync(path);
      database.prepare("DELETE FROM leases WHERE id = ?").run(conversation);
      database.close();
    };
    const [, , headers] = await ask(served, "/responses", { conversation, input: "Late" });
    expect(headers.get("x-patchbay-store")).toBe("unconfirmed");
    const items = `/conversations/${conversation}/items`;
    expect((await ask(served, items))[1]["data"]).toEqual([]);
    const next = await ask(served, "/responses", { conversation, input: "Next" });
    expect([next[0], next[2].get("x-patchbay-store")]).toEqual([200, null]);
    expect((await ask(served, items))[1]["data"]).toHaveLength(2);
  });
});
