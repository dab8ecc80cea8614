import { responses } from "../../src/dialects/responses/responses.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { codexProfile } from "../../src/profiles/codex.ts";
import { systemClock } from "../../src/host/platform/clock.ts";
import type { TurnEvent } from "../../src/turn/event.ts";
import { upstreamName, type UpstreamName } from "../../src/turn/names.ts";
import type { Item, Turn } from "../../src/turn/turn.ts";
import { codexUpstream } from "../../src/upstreams/codex/codex.ts";
import {
  fakeUpstream,
  frame,
  hang,
  sse,
  type Body,
  type FakeUpstream,
  type Model,
} from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
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
type Event = TurnEvent<UpstreamName>;

type Opened = AsyncDisposable & {
  readonly model: FakeUpstream;
  readonly pid: () => number;
  run(tenant: string, items: readonly Item<UpstreamName>[]): Promise<readonly Event[]>;
};

/** The Codex upstream as an early link of a chain has it: it does not retry. */
async function openUpstream(behind: Model): Promise<Opened> {
  const home = await mkdtemp(join(tmpdir(), "patchbay-codex-home-"));
  const model = await fakeUpstream(behind);
  let pid = 0;
  const upstream = codexUpstream({
    name: "codex",
    profile: codexProfile,
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
    notice: (notice) => void (notice.event === "started" && (pid = notice.pid ?? 0)),
  });
  const run = (tenant: string, items: readonly Item<UpstreamName>[]) =>
    new Promise<readonly Event[]>((resolve) => {
      const events: Event[] = [];
      const to = { model: "m", profile: upstream.profile, straight: false };
      upstream.prepare(turnOf(items), to).open({ retry: false, requestId: "req", tenant })({
        each: (event) => void events.push(event),
        flush() {},
        end: () => resolve(events),
      });
    });
  return {
    model,
    pid: () => pid,
    run,
    async [Symbol.asyncDispose]() {
      await upstream.close();
      await model[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

describe.skipIf(missing)("a parked thread", () => {
  it.each([
    ["goes on for the tenant that it belongs to", "first", true],
    ["is not found by another tenant with the same conversation", "second", false],
  ])("%s", async (_, tenant, isSame) => {
    await using opened = await openUpstream(callsOnce);
    const { model } = opened;
    await opened.run("first", [asked]);
    await opened.run(tenant, [asked, ...answered]);
    expect(model.requests).toHaveLength(2);
    expect(new Set(threadsOf(model)).size === 1).toBe(isSame);
    expect(lastInput(model).includes("reasoning-of-the-first-tenant")).toBe(isSame);
  });

  it("gives way to a fresh one where its process dies, also in an upstream that does not retry", async () => {
    await using opened = await openUpstream((request, at) =>
      at === 1 ? sse(hang) : callsOnce(request, at),
    );
    await opened.run("first", [asked]);
    const second = opened.run("first", [asked, ...answered]);
    await until(() => opened.model.requests.length === 2);
    process.kill(opened.pid(), "SIGKILL");
    expect((await second).at(-1)).toMatchObject({ type: "turn-end", stop: "end" });
    expect(new Set(threadsOf(opened.model)).size).toBe(2);
  });

  it("is bound to the API key at the gateway", async () => {
    await using gateway = await openCodex(callsOnce, {}, { keys: ["key-one", "key-two"] });
    const ask = (key: string, input: readonly Body[]) =>
      fetch(`${gateway.served.url}/v1/responses`, {
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
    expect(lastInput(gateway.model)).not.toContain("reasoning-of-the-first-tenant");
    await ask("key-one", [question, call, result]);
    expect(lastInput(gateway.model)).toContain("reasoning-of-the-first-tenant");
    const [first, second, third] = threadsOf(gateway.model);
    expect([first === second, first === third]).toEqual([false, true]);
  });
});
