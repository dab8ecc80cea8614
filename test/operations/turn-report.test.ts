import { describe, expect, it } from "vitest";
import type { Happening } from "../../src/observe/happening.ts";
import { fakeUpstream, json } from "../support/fake-upstream.ts";
import { completion } from "../support/http-upstream.ts";
import { onto, serve } from "../support/serve.ts";

const tool = (name: string) => ({
  type: "function",
  function: { name, parameters: { type: "object" } },
});

const ask = (url: string, body: object = {}, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }], ...body }),
  });

const answering = (turns: readonly unknown[], more: object = {}) => ({
  upstreams: { s: { dialect: "scripted" as const, script: { turns } } },
  models: { "*": "s/scripted" },
  ...more,
});

const call = (name: string, args: string) => ({ name, arguments: args });

describe("what a turn tells", () => {
  it("names the agent, its run by a digest, and sizes", async () => {
    await using served = await serve(answering([["Hello"], ["Hello"]]));
    const headers = { "user-agent": "codex_cli_rs/0.166.0", "session-id": "secret-run" };
    const body = { tools: [tool("look")] };
    for (let at = 0; at < 2; at++) await (await ask(served.url, body, headers)).text();
    await (await ask(served.url, body, { ...headers, "session-id": "other" })).text();
    const [first, again, other] = served.turns();
    expect(first).toMatchObject({
      agent: "codex",
      tenant: "local",
      run: expect.stringMatching(/^[\da-f]{12}$/),
    });
    expect(first?.requestBytes).toBeGreaterThan(100);
    expect([first?.toolBytes, first?.toolBytesSent].every((size) => (size ?? 0) > 30)).toBe(true);
    expect(again?.run).toBe(first?.run);
    expect(other?.run).not.toBe(first?.run);
    expect(JSON.stringify(served.happenings)).not.toContain("secret-run");
  });

  it("lists each call with what became of it", async () => {
    const calls = [call("look", '{"a":1}'), call("look", '{"a":1}'), call("look", '{"a":2}')];
    const script = [[{ calls }]];
    await using served = await serve(
      answering(script, { tools: { block_dedup: true, block_max: 1 } }),
    );
    await (await ask(served.url, { tools: [tool("look")] })).text();
    const [turn] = served.turns();
    expect(
      turn?.callDetails.map(({ name, kind, argumentChars, outcome }) => [
        name,
        kind,
        argumentChars,
        outcome,
      ]),
    ).toEqual([
      ["look", "function", 7, "given"],
      ["look", "function", 7, "repeated"],
      ["look", "function", 0, "withheld"],
    ]);
    expect(turn).toMatchObject({ calls: { given: 1, repeated: 1, withheld: 1 } });
  });

  it("reports steps, attempts and calls only to those who follow them", async () => {
    await using served = await serve(answering([[{ calls: [call("look", "{}")] }]]));
    const followed: Happening[] = [];
    const stop = served.gateway.subscribe((one) => void followed.push(one), { steps: true });
    await (await ask(served.url, { tools: [tool("look")] })).text();
    stop();
    await (await ask(served.url, { tools: [tool("look")] })).text();
    const steps = followed.flatMap((one) => (one.type === "step" ? one.step : one.type));
    expect(steps).toEqual([
      "begun",
      "planned",
      "asked",
      "first",
      "call",
      "call",
      "attempt",
      "round",
      "turn",
    ]);
    expect(served.happenings.map(({ type }) => type)).not.toContain("step");
  });

  it("tells every attempt, its status, and how long it was waited before the next", async () => {
    const answers = [
      json({ error: { message: "slow down" } }, 429, { "retry-after-ms": "5" }),
      json({ error: { message: "busy" } }, 503, { "retry-after-ms": "7" }),
      json(completion),
    ];
    await using upstream = await fakeUpstream((_, index) => answers[index] ?? json(completion));
    await using served = await serve(onto("chat", upstream.url, { retries: 3 }));
    await (await ask(served.url)).text();
    const [turn] = served.turns();
    expect(turn?.attempts.map(({ status, fault, waitMs }) => [status, fault, waitMs])).toEqual([
      [429, "upstream.rate_limited", 5],
      [503, "upstream.overloaded", 7],
      [200, undefined, undefined],
    ]);
    expect(turn?.headersMs).toBeGreaterThanOrEqual(turn?.askedMs ?? Infinity);
  });

  it.each([
    ["fails at its upstream", {}],
    ["is refused for what would be lost", { "x-patchbay-strict": "true" }],
  ])("has a plan by its request's id also where it %s", async (_, headers) => {
    await using upstream = await fakeUpstream(() => json({ error: { message: "no" } }, 401));
    await using served = await serve(onto("chat", upstream.url));
    const tools = [tool("look"), { type: "web_search" }];
    const answer = await ask(served.url, { tools }, { ...headers, "x-request-id": "req-7" });
    expect(answer.ok).toBe(false);
    const plan = await fetch(`${served.url}/v1/plans/req-7`);
    expect(await plan.json()).toMatchObject({
      id: "req-7",
      upstream: "fake/m",
      verdicts: { native: 1, ignored: 1 },
    });
    expect((await fetch(`${served.url}/v1/plans/req-8`)).status).toBe(404);
  });
});
