import { expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";

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
