import * as fc from "fast-check";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { systemClock } from "../../src/host/platform/clock.ts";
import { MemoryLog } from "../../src/history/memory-log.ts";
import { LOCAL_TENANT } from "../../src/turn/tenant.ts";
import type { Clock } from "../../src/turn/clock.ts";
import type { Campaign } from "../campaign.ts";
import { changes, mutated } from "../mutate.ts";
import { listKey } from "../../src/history/log.ts";

const item = {
  type: "message",
  role: "assistant",
  id: "msg_1",
  content: [{ type: "output_text", text: "Hello", annotations: [] }],
};
const call = { type: "function_call", id: "fc_1", call_id: "c", name: "f", arguments: "{}" };
const record = { id: "resp_1", object: "response", status: "completed", model: "demo/demo" };

/** Waits of up to 5 seconds take no time. */
const hasty: Clock = {
  now: () => systemClock.now(),
  date: () => systemClock.date(),
  at(moment, then, background) {
    const now = systemClock.now();
    return systemClock.at(moment - now <= 5000 ? now : moment, then, background);
  },
};

/** Rows of another version or a damaged disk: requests that continue them are refused or answered. */
export function rows(): Campaign {
  const store = new MemoryLog(systemClock);
  const platform = { ...nodePlatform(), clock: hasty };
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
  let rows = 0;
  return {
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
            await store.append({
              tenant: LOCAL_TENANT,
              at: Date.now(),
              answerId: "resp_1",
              items: stored,
              response: { input: stored, json },
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
      {
        name: "stored answers in the background and their events",
        property: fc.asyncProperty(
          fc.array(changes, { maxLength: 4 }),
          fc.array(changes, { maxLength: 4 }),
          fc.nat(200),
          async (ofEvents, ofRecord, cut) => {
            const id = `resp_${++rows}`;
            const own = { ...record, id, background: true };
            const events = mutated(
              ["event: a", 'data: {"sequence_number":0}', "event: b"],
              ofEvents,
            );
            const piece = JSON.stringify(Array.isArray(events) ? events.join("\n\n") : events);
            const response = { input: [], json: JSON.stringify(mutated(own, ofRecord) ?? null) };
            const turn = { tenant: LOCAL_TENANT, at: 0, answerId: id, items: [] };
            await store.append({ ...turn, response });
            // A piece may be cut off, or be no text.
            for (const [at, json] of [piece ?? "null", (piece ?? "").slice(0, cut)].entries())
              await store.append({ ...turn, notes: [{ id: `stream:${id}:${at}`, json }] });
            await ask(`/v1/responses/${id}?stream=true`);
            await ask(`/v1/responses/${id}/cancel`, {});
            await ask(`/v1/responses/${id}`);
          },
        ),
      },
      {
        name: "conversations, completions and thoughts",
        property: fc.asyncProperty(
          fc.array(changes, { maxLength: 4 }),
          fc.array(changes, { maxLength: 4 }),
          fc.nat(1000),
          async (ofItems, ofHead, cut) => {
            const items = mutated([item, call], ofItems) as unknown[];
            // Some items are cut off.
            const stored = (Array.isArray(items) ? items : []).map((one, at) => ({
              id: `item_${at}`,
              json: JSON.stringify(one ?? null).slice(0, cut),
            }));
            const json = JSON.stringify(mutated({ metadata: {}, model: "m" }, ofHead) ?? null);
            const tenant = LOCAL_TENANT;
            for (const kind of ["conv", "chatcmpl"]) {
              const id = `${kind}_${++rows}`.replace("chatcmpl_", "chatcmpl-");
              await store.create({ tenant, id, json, items: stored });
              const path =
                kind === "conv" ? `/v1/conversations/${id}` : `/v1/chat/completions/${id}`;
              await ask(path);
              await ask(`${path}/${kind === "conv" ? "items" : "messages"}`);
              const body = { model: "demo/demo", input: "On", conversation: id };
              if (kind === "conv") await ask("/v1/responses", body);
              else await ask("/v1/chat/completions");
              await store.drop(listKey(tenant, id));
            }
          },
        ),
      },
    ],
    close: () => gateway.close(0),
  };
}
