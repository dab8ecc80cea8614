import * as fc from "fast-check";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { systemClock } from "../../src/host/platform/clock.ts";
import { MemoryStore } from "../../src/store/memory.ts";
import { LOCAL_TENANT } from "../../src/turn/tenant.ts";
import type { Campaign } from "../campaign.ts";
import { changes, mutated } from "../mutate.ts";

const item = {
  type: "message",
  role: "assistant",
  id: "msg_1",
  content: [{ type: "output_text", text: "Hello", annotations: [] }],
};
const call = { type: "function_call", id: "fc_1", call_id: "c", name: "f", arguments: "{}" };
const record = { id: "resp_1", object: "response", status: "completed", model: "demo/demo" };

/** Rows as another version, or a damaged disk, may have left them: what continues them is refused or answered. */
export function rows(): Campaign {
  const store = new MemoryStore(systemClock);
  const platform = nodePlatform();
  const gateway = openGateway(parseConfig({ store: { kind: "sqlite", path: "unused" } }), {
    ...platform,
    runtime: { ...platform.runtime, openStore: () => store },
  });
  const ask = async (path: string, body?: object): Promise<void> => {
    const init: RequestInit =
      body === undefined
        ? {}
        : {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(body),
          };
    const response = await gateway.fetch(new Request(`http://here${path}`, init));
    const text = await response.text();
    if (text.includes("gateway.internal") || text.includes("its log has the reason"))
      throw new Error(`${path} answered ${response.status}: ${text}`);
  };
  return {
    name: "rows",
    properties: [
      {
        name: "stored responses",
        property: fc.asyncProperty(
          fc.array(changes, { maxLength: 4 }),
          fc.array(changes, { maxLength: 4 }),
          async (ofItems, ofRecord) => {
            const items = mutated([item, call], ofItems) as unknown[];
            const stored = (Array.isArray(items) ? items : []).map((one, at) => ({
              id: `item_${at}`,
              json: JSON.stringify(one ?? null),
            }));
            const json = JSON.stringify(mutated(record, ofRecord));
            await store.saveTurn({
              tenant: LOCAL_TENANT,
              at: Date.now(),
              answerId: "resp_1",
              items: stored,
              response: { input: stored, json },
              seals: [],
            });
            const model = "demo/demo";
            await ask("/v1/responses", { model, input: "On", previous_response_id: "resp_1" });
            const input = stored.map(({ id }) => ({ type: "item_reference", id }));
            await ask("/v1/responses", {
              model,
              input: [...input, { role: "user", content: "x" }],
            });
            await ask("/v1/responses/resp_1");
            await ask("/v1/responses/resp_1/input_items");
          },
        ),
      },
    ],
    close: () => gateway.close(0),
  };
}
