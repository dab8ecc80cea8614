import { expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { systemClock } from "../../src/host/platform/clock.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { MemoryLog } from "../../src/history/memory-log.ts";
import { LOCAL_TENANT } from "../../src/turn/tenant.ts";

it("an item that is none, as a damaged row may hold, is left out of a list", async () => {
  const store = new MemoryLog(systemClock);
  const platform = nodePlatform();
  const gateway = openGateway(parseConfig({ store: { kind: "sqlite", path: "unused" } }), {
    ...platform,
    runtime: { ...platform.runtime, openStore: () => store },
  });
  const damaged = [{ id: "a", json: "null" }];
  await store.append({
    tenant: LOCAL_TENANT,
    at: systemClock.date(),
    answerId: "resp_1",
    items: damaged,
    response: { input: damaged, json: '{"id":"resp_1","object":"response","status":"completed"}' },
  });
  const asked = new Request("http://here/v1/responses/resp_1/input_items");
  const response = await gateway.fetch(asked);
  expect([response.status, await response.json()]).toMatchObject([200, { data: [] }]);
  await gateway.close(0);
});

it.each([
  ["that is no item", "null"],
  ["that is cut off", '{"id":"a","ty'],
])("a stored value %s is left out of the list of a conversation", async (_, json) => {
  const store = new MemoryLog(systemClock);
  const platform = nodePlatform();
  const gateway = openGateway(parseConfig({ store: { kind: "sqlite", path: "unused" } }), {
    ...platform,
    runtime: { ...platform.runtime, openStore: () => store },
  });
  await store.create({
    tenant: LOCAL_TENANT,
    id: "conv_1",
    json: '{"id":"conv_1"}',
    items: [{ id: "a", json }],
  });
  const list = await gateway.fetch(new Request("http://here/v1/conversations/conv_1/items"));
  expect([list.status, await list.json()]).toMatchObject([200, { data: [] }]);
  await gateway.close(0);
});

it("a turn of a conversation with a damaged item is refused by name", async () => {
  const store = new MemoryLog(systemClock);
  const platform = nodePlatform();
  const config = parseConfig({
    store: { kind: "sqlite", path: "unused" },
    upstreams: { demo: { dialect: "scripted" } },
  });
  const gateway = openGateway(config, {
    ...platform,
    runtime: { ...platform.runtime, openStore: () => store },
  });
  await store.create({
    tenant: LOCAL_TENANT,
    id: "conv_1",
    json: '{"id":"conv_1"}',
    items: [{ id: "a", json: '{"id":"a","ty' }],
  });
  const turn = await gateway.fetch(
    new Request("http://here/v1/responses", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "demo/demo", input: "Go on.", conversation: "conv_1" }),
    }),
  );
  const body = (await turn.json()) as { readonly error: { readonly code: string } };
  expect([turn.status, body.error.code]).toEqual([500, "store.unusable"]);
  await gateway.close(0);
});
