import { describe, expect, it } from "vitest";
import { readItem } from "../../src/dialects/responses/items.ts";
import { responses } from "../../src/dialects/responses/responses.ts";
import { defaultCounts } from "../../src/dialects/shared/request-counts.ts";
import { parseConfig, type ConfigInput } from "../../src/gateway/config.ts";
import { openGateway, type Gateway } from "../../src/gateway/gateway.ts";
import { withHistory } from "../../src/gateway/history/recall.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import type { Turn } from "../../src/turn/turn.ts";
import { growth, LINEAR } from "../support/growth.ts";

type Got = { readonly status: number; readonly text: string; readonly id: string };

const open = (config: ConfigInput = {}): Gateway =>
  openGateway(parseConfig({ store: "memory", ...config }), nodePlatform());

async function post(gateway: Gateway, path: string, body: object): Promise<Got> {
  const response = await gateway.fetch(
    new Request(`http://here/v1${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "demo", ...body }),
    }),
  );
  const text = await response.text();
  const { id } = JSON.parse(text) as { id: string };
  return { status: response.status, text, id };
}

const many = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));
const message = (content: string) => ({ type: "message", role: "user", content });

it("results without calls cost what they are long, before a request and in it", async () => {
  const place = { path: "input", repair: () => {} };
  const result = { type: "function_call_output", call_id: "c", output: "x" };
  const own = (size: number): Turn => ({
    ...responses.door.readRequest({ model: "m", input: "Hi" }),
    items: many(size, () => readItem(message("x"), place)),
  });
  const SIZE = 4000;
  const turns = new Map([SIZE, 8 * SIZE].map((size) => [size, own(size)]));
  const work = (size: number): void => {
    const turn = turns.get(size) ?? own(size);
    const items = many(size, () => result);
    const history = {
      items,
      path: "previous_response_id",
      fields: {},
      counts: { ...defaultCounts, items: Infinity },
    };
    expect(withHistory(turn, responses.door.history, history).items).toHaveLength(2 * size);
  };
  expect(await growth(work, SIZE)).toBeLessThan(LINEAR);
});

describe("names and ids without end", () => {
  const long = "n".repeat(200_000);
  const item = { type: "function_call", name: "f", call_id: "c", arguments: "{}" };

  it.each(["name", "call_id"])("are refused in the items of a conversation: %s", async (field) => {
    const gateway = open();
    const items = [{ ...item, [field]: long }];
    const refused = { status: 400, text: expect.stringContaining("`items[0]`") };
    expect(await post(gateway, "/conversations", { items })).toMatchObject(refused);
    const { id } = await post(gateway, "/conversations", {});
    expect(await post(gateway, `/conversations/${id}/items`, { items })).toMatchObject(refused);
  });
});

describe("the limit of a body", () => {
  const server = { body_limit: 100_000 };
  const text = "x".repeat(40_000);

  it("holds for a conversation and the references of a request together", async () => {
    const gateway = open({ server });
    const { id } = await post(gateway, "/conversations", { items: [message(text)] });
    const item = { ...message(text), id: "msg_1" };
    await post(gateway, "/responses", { input: [item] });
    const reference = { type: "item_reference", id: "msg_1" };
    const ask = (count: number, conversation?: string) =>
      post(gateway, "/responses", { conversation, input: many(count, () => reference) });
    expect((await ask(2)).status).toBe(200);
    expect((await ask(1, id)).status).toBe(200);
    expect((await ask(2, id)).status).toBe(413);
  });

  it("is one of bytes for a conversation and the request to it", async () => {
    const gateway = open({ server });
    const { id } = await post(gateway, "/conversations", { items: [message("é".repeat(30_000))] });
    const ask = (input: string) => post(gateway, "/responses", { conversation: id, input });
    expect((await ask("é".repeat(15_000))).status).toBe(200);
    expect((await ask("é".repeat(25_000))).status).toBe(413);
  });

  it("holds for a thread, what it began with and the request to it together", async () => {
    const gateway = open({ server });
    const ask = (content: string, thread: object, system?: string) =>
      post(gateway, "/messages", {
        max_tokens: 9,
        thread,
        ...(system !== undefined && { system }),
        messages: [{ role: "user", content }],
      });
    const begun = await ask(text, { type: "create" }, text);
    expect(begun.status).toBe(200);
    const thread = { type: "continue", previous_message_id: begun.id };
    expect((await ask("short", thread)).status).toBe(200);
    expect((await ask(text, thread)).status).toBe(413);
  });
});

it("what a request stands for counts among the bytes of its tenant in flight", async () => {
  const gateway = open({ limits: { default: { bytes_in_flight: 50_000 } } });
  const input = "x".repeat(30_000);
  const first = await post(gateway, "/responses", { input });
  const previous_response_id = first.id;
  expect((await post(gateway, "/responses", { previous_response_id, input: "a" })).status).toBe(
    200,
  );
  expect((await post(gateway, "/responses", { previous_response_id, input })).status).toBe(429);
});
