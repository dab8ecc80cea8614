import { responses } from "../../src/dialects/responses/responses.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { codex } from "../../src/profiles/codex.ts";
import { systemClock } from "../../src/host/server/clock.ts";
import { upstreamName, type UpstreamName } from "../../src/turn/names.ts";
import type { Item, Turn } from "../../src/turn/turn.ts";
import { codexUpstream } from "../../src/upstreams/codex/codex.ts";
import type { Upstream } from "../../src/upstreams/upstream.ts";
import {
  fakeUpstream,
  frame,
  sse,
  type Body,
  type FakeUpstream,
  type Model,
} from "../support/fake-upstream.ts";
import { command, missing, openCodex } from "./gateway.ts";

const reasoning = {
  type: "reasoning",
  summary: [],
  encrypted_content: "reasoning-of-the-first-tenant",
};
const call = { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" };
const message = (text: string): Body => ({
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text }],
});
/** Thinks and calls `look`; with a result, answers. */
const callsOnce: Model = ({ body }) => {
  const answered = JSON.stringify(body["input"]).includes("function_call_output");
  const items = answered ? [message("A tree.")] : [reasoning, call];
  const done = items.map((item) => frame({ type: "response.output_item.done", item }));
  return sse(...done, frame({ type: "response.completed", response: { id: "resp_1" } }));
};
/** Codex sends its thread's id along: a parked thread has that of the request before it. */
const threadsOf = ({ requests }: FakeUpstream): unknown[] =>
  requests.map(({ body }) => body["prompt_cache_key"]);
const lastInput = ({ requests }: FakeUpstream): string =>
  JSON.stringify(requests.at(-1)?.body["input"]);

const look = upstreamName("look");
const asked: Item<UpstreamName> = {
  type: "message",
  role: "user",
  parts: [{ type: "text", text: "What is there?" }],
};
const answered: readonly Item<UpstreamName>[] = [
  { type: "call", id: "call_1", kind: "function", name: look, input: "{}" },
  { type: "result", call: "call_1", kind: "function", parts: [{ type: "text", text: "seen" }] },
];
const turnOf = (items: readonly Item<UpstreamName>[]): Turn<UpstreamName> => ({
  dialect: "responses",
  traits: responses.traits,
  model: "m",
  items,
  tools: [{ type: "function", name: look, schema: { type: "object", properties: {} } }],
  params: {},
  stream: true,
  usageWanted: false,
  extra: { dialect: "responses", fields: {} },
  body: {},
});
const run = (upstream: Upstream, tenant: string, items: readonly Item<UpstreamName>[]) =>
  new Promise<void>((end) => {
    const prepared = upstream.prepare(turnOf(items), {
      model: "m",
      profile: upstream.profile,
      straight: false,
    });
    prepared.open({ retry: false, requestId: "req", tenant })({ each() {}, flush() {}, end });
  });

describe.skipIf(missing)("a parked thread", () => {
  it.each([
    ["goes on for the tenant that it belongs to", "first", true],
    ["is not found by another tenant with the same conversation", "second", false],
  ])("%s", async (_, tenant, isSame) => {
    const home = await mkdtemp(join(tmpdir(), "patchbay-codex-home-"));
    await using model = await fakeUpstream(callsOnce);
    const upstream = codexUpstream({
      name: "codex",
      profile: codex,
      command,
      home,
      processes: 1,
      turnsPerProcess: 4,
      queue: 4,
      provider: { baseUrl: model.url, apiKey: "sk-behind" },
      models: [],
      timeouts: { connect: 10_000, idle: 60_000 },
      parkMs: 60_000,
      parked: 4,
      environment: { HOME: home },
      clock: systemClock,
      random: Math.random,
    });
    await run(upstream, "first", [asked]);
    await run(upstream, tenant, [asked, ...answered]);
    await upstream.close();
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
    expect(model.requests).toHaveLength(2);
    expect(new Set(threadsOf(model)).size === 1).toBe(isSame);
    expect(lastInput(model).includes("reasoning-of-the-first-tenant")).toBe(isSame);
  });

  it("is bound to the API key at the gateway", async () => {
    await using house = await openCodex(callsOnce, {}, { keys: ["key-one", "key-two"] });
    const ask = (key: string, input: readonly Body[]) =>
      fetch(`${house.served.url}/v1/responses`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
        body: JSON.stringify({
          model: "m",
          input,
          tools: [{ type: "function", name: "look", parameters: { type: "object" } }],
        }),
      }).then((response) => response.json() as Promise<Body>);
    const question = { role: "user", content: "What is there?" };
    const result = { type: "function_call_output", call_id: "call_1", output: "seen" };
    await ask("key-one", [question]);
    expect((await ask("key-two", [question, call, result]))["status"]).toBe("completed");
    expect(lastInput(house.model)).not.toContain("reasoning-of-the-first-tenant");
    await ask("key-one", [question, call, result]);
    expect(lastInput(house.model)).toContain("reasoning-of-the-first-tenant");
    const [first, second, third] = threadsOf(house.model);
    expect([first === second, first === third]).toEqual([false, true]);
  });
});
