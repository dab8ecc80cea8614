import { expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { systemClock } from "../../src/host/platform/clock.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { MemoryStore } from "../../src/store/memory.ts";
import { LOCAL_TENANT } from "../../src/turn/tenant.ts";

it("an item that is none, as a damaged row may hold, is left out of a list", async () => {
  const store = new MemoryStore(systemClock);
  const platform = nodePlatform();
  const gateway = openGateway(parseConfig({ store: { kind: "sqlite", path: "unused" } }), {
    ...platform,
    runtime: { ...platform.runtime, openStore: () => store },
  });
  const damaged = [{ id: "a", json: "null" }];
  await store.saveTurn({
    tenant: LOCAL_TENANT,
    at: systemClock.date(),
    answerId: "resp_1",
    items: damaged,
    response: { input: damaged, json: '{"id":"resp_1","object":"response","status":"completed"}' },
    seals: [],
  });
  const asked = new Request("http://here/v1/responses/resp_1/input_items");
  const response = await gateway.fetch(asked);
  expect([response.status, await response.json()]).toMatchObject([200, { data: [] }]);
  await gateway.close(0);
});
