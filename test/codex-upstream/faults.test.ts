import { describe, expect, it } from "vitest";
import { answerInResponses, wantedCalls } from "../support/fake-model.ts";
import {
  cut,
  fakeUpstream,
  frame,
  hang,
  json,
  sse,
  type Answer,
  type Model,
} from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { ask, missing, openCodex, pidOf, sharedCodex } from "./gateway.ts";

/** Tests with this one run alone; those with a Codex of their own wait together. */
const codexWith = sharedCodex();

const failed = (code: string, message: string): Answer =>
  sse(frame({ type: "response.failed", response: { id: "resp_1", error: { code, message } } }));
const refused = (status: number, code: string, headers: Record<string, string> = {}): Answer =>
  json({ error: { message: `said ${code}`, code, type: "some_error" } }, status, headers);
const half = [
  frame({
    type: "response.output_item.added",
    item: { type: "message", id: "msg_1", role: "assistant", content: [] },
  }),
  frame({ type: "response.output_text.delta", item_id: "msg_1", delta: "Half" }),
];
const incomplete = (reason: string): string =>
  frame({
    type: "response.incomplete",
    response: { id: "resp_1", incomplete_details: { reason } },
  });

const cases: readonly (readonly [string, number, string, Answer])[] = [
  ["a 400", 400, "bad_thing", refused(400, "bad_thing")],
  ["a 400 in plain words", 400, "upstream.refused", json("no", 400)],
  ["a 400 without words", 400, "upstream.refused", json("", 400)],
  ["a 401", 401, "upstream.auth", refused(401, "invalid_api_key")],
  ["a 403", 403, "upstream.forbidden", refused(403, "forbidden")],
  ["a 404", 404, "model_not_found", refused(404, "model_not_found")],
  ["a 429", 429, "upstream.rate_limited", refused(429, "rate_limit_exceeded")],
  ["a 429 for good", 429, "insufficient_quota", refused(429, "insufficient_quota")],
  ["a 500", 502, "upstream.failed", refused(500, "oh")],
  ["a 503", 503, "upstream.overloaded", refused(503, "oh")],
  ["a limit", 429, "rate_limit_exceeded", failed("rate_limit_exceeded", "try again in 20s")],
  ["a bad prompt", 400, "upstream.refused", failed("invalid_prompt", "flagged")],
  ["a policy", 400, "cyber_policy", failed("cyber_policy", "flagged")],
  ["a long talk", 400, "context_length_exceeded", failed("context_length_exceeded", "too long")],
  ["overload", 503, "upstream.overloaded", failed("server_is_overloaded", "busy")],
  ["a failure of its own", 502, "upstream.cut", failed("server_error", "no")],
  ["a cut", 502, "upstream.cut", sse(...half, cut)],
];

describe.skipIf(missing)("what goes wrong behind the real codex app-server", () => {
  it.concurrent("reaches the client with its status, and the next request works", async () => {
    const gateway = await codexWith(({ body }) => {
      const [, , , answer] =
        cases.find(([what]) => body["input"][0].content[0].text === what) ?? [];
      return answer ?? answerInResponses(body, { text: "Fine." });
    });
    await ask(gateway);
    const pid = pidOf(gateway);
    await Promise.all(
      cases.map(async ([what, status, code]) => {
        const refusal = await ask(gateway, { messages: [{ role: "user", content: what }] });
        expect([what, refusal.status, refusal.body["error"]?.code]).toEqual([what, status, code]);
        expect(refusal.text).not.toContain("sk-behind");
        expect(refusal.text).not.toContain(gateway.model.url);
        expect((await ask(gateway)).body["choices"]?.[0].message.content).toBe("Fine.");
      }),
    );
    // It is the same process all the time.
    expect(pidOf(gateway)).toBe(pid);
  });

  it.concurrent("is told also where a call came before it, which Codex keeps it back for", async () => {
    const item = { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" };
    const called = frame({ type: "response.output_item.done", output_index: 0, item });
    const tools = [{ type: "function", function: { name: "look" } }];
    let now: Answer = sse(called, cut);
    await using gateway = await openCodex(() => now, { timeouts: { idle: 3_000 } });
    const refusal = await ask(gateway, { tools });
    expect([refusal.status, refusal.body["error"]?.code]).toEqual([502, "upstream.cut"]);
    now = sse(called, incomplete("max_output_tokens"));
    const { body } = await ask(gateway, { tools });
    expect(body["choices"]?.[0]).toMatchObject({ finish_reason: "length" });
  });

  it.concurrent("is told wherever the model breaks off", async () => {
    const said = { text: "Let me see.", calls: wantedCalls };
    const frames = [...(answerInResponses({ stream: true }, said).steps as Iterable<string>)];
    const end = frames.findIndex((one) => one.includes("response.completed"));
    const breaking: Model = ({ body }) =>
      sse(...frames.slice(0, Number(body["input"][0].content[0].text)), cut);
    await using gateway = await openCodex(breaking, { timeouts: { idle: 8_000 } });
    const tools = wantedCalls.map(({ name }) => ({ type: "function", function: { name } }));
    const answers = await Promise.all(
      [...frames.keys(), frames.length].map((at) =>
        ask(gateway, { messages: [{ role: "user", content: `${at}` }], tools }),
      ),
    );
    expect(answers.map(({ status, body }) => [status, body["error"]?.code])).toEqual(
      answers.map((_, at) => (at <= end ? [502, "upstream.cut"] : [200, undefined])),
    );
  });

  it.each([
    ["ran into its limit", "max_output_tokens", "length"],
    ["was filtered", "content_filter", "content_filter"],
  ])("is an end where the answer %s", async (_, reason, finish) => {
    const gateway = await codexWith(() => sse(...half, incomplete(reason)));
    const { body } = await ask(gateway);
    expect(body["choices"]?.[0]).toMatchObject({
      finish_reason: finish,
      message: { content: "Half" },
    });
  });

  it("is tried again where it may pass, but not for as long as it asks to be left alone", async () => {
    const gateway = await codexWith(({ body }, at) =>
      at < 2
        ? refused(503, "oh", { "retry-after": "60" })
        : answerInResponses(body, { text: "Fine." }),
    );
    expect((await ask(gateway)).body["choices"]?.[0].message.content).toBe("Fine.");
    expect(gateway.model.requests).toHaveLength(3);
  });

  it("is told in the stream once that has begun", async () => {
    const gateway = await codexWith(() => sse(...half, cut));
    const { status, text } = await ask(gateway, { stream: true });
    expect(status).toBe(200);
    expect(text).toContain('"content":"Half"');
    expect(text).toContain("upstream.cut");
    expect(text).not.toContain('finish_reason":"stop');
  });
});

/** Where nobody listens any more. */
async function closedUrl(): Promise<string> {
  await using gone = await fakeUpstream(halfThenWhole);
  return gone.url;
}

/** Answers the first request by halves and then no more, and every other one whole. */
const halfThenWhole: Model = ({ body }, at) =>
  at === 0 ? sse(...half, hang) : answerInResponses(body, { text: "Fine." });

describe.skipIf(missing)("the real codex app-server", () => {
  it("may be killed in mid-turn: that turn fails and the next one works", async () => {
    const gateway = await codexWith(halfThenWhole);
    let killed = 0;
    const stream = gateway.client.chat.completions.stream({
      model: "m",
      messages: [{ role: "user", content: "Hi" }],
    });
    stream.on("content", () => process.kill((killed = pidOf(gateway)), "SIGKILL"));
    await expect(stream.finalContent()).rejects.toThrow(/ended \(SIGKILL\) before the answer/);
    expect((await ask(gateway)).body["choices"]?.[0].message.content).toBe("Fine.");
    expect(pidOf(gateway)).not.toBe(killed);
  });

  it("may be killed before its first word: another answers", async () => {
    const gateway = await codexWith(({ body }, at) =>
      at === 0 ? sse(hang) : answerInResponses(body, { text: "Fine." }),
    );
    const first = ask(gateway);
    await until(() => gateway.model.requests.length === 1);
    process.kill(pidOf(gateway), "SIGKILL");
    expect((await first).body["choices"]?.[0].message.content).toBe("Fine.");
  });

  it("stops its model when the client leaves", async () => {
    const gateway = await codexWith(halfThenWhole);
    const leaving = new AbortController();
    const left = ask(gateway, { stream: true }, leaving.signal).catch(() => "left");
    await until(() => gateway.model.requests.length === 1);
    leaving.abort();
    expect(await left).toBe("left");
    await gateway.model.requests[0]?.closed;
    expect(gateway.model.requests[0]?.abandoned()).toBe(true);
    expect((await ask(gateway)).body["choices"]?.[0].message.content).toBe("Fine.");
  });

  it.concurrent("says at once that nobody answers behind it, where Codex would wait without end", async () => {
    await using gateway = await openCodex(halfThenWhole, { base_url: await closedUrl() });
    const { status, body } = await ask(gateway);
    expect([status, body["error"]?.code]).toEqual([502, "upstream.unreachable"]);
    expect(body["error"]?.message).toMatch(/cannot reach its model.*`base_url`/);
  });

  it.concurrent("says how to sign in where nobody has", async () => {
    await using gateway = await openCodex(halfThenWhole, {
      base_url: undefined,
      api_key: undefined,
    });
    const { status, body } = await ask(gateway);
    expect(status).toBe(401);
    expect(body["error"]).toMatchObject({
      code: "upstream.auth",
      message: expect.stringMatching(/CODEX_HOME=\S+ codex login/) as unknown,
    });
    const readiness = await fetch(`${gateway.served.url}/readyz`);
    expect(readiness.status).toBe(503);
    expect(await readiness.json()).toEqual({
      status: "unready",
      upstreams: { codex: "upstream.auth" },
    });
  });

  it.concurrent("lists the models it is built for, or those that are configured", async () => {
    await using signedIn = await openCodex(halfThenWhole, { base_url: undefined });
    const known = await signedIn.client.models.list();
    expect(known.data.map(({ id }) => id)).toContain("codex/gpt-5.5");
    await using elsewhere = await openCodex(halfThenWhole, { models: ["some-model"] });
    const own = await elsewhere.client.models.list();
    expect(own.data.map(({ id }) => id)).toEqual(["codex/some-model"]);
  });

  it("is ready once it has been greeted", async () => {
    const gateway = await codexWith(halfThenWhole);
    const readiness = await fetch(`${gateway.served.url}/readyz`);
    expect(await readiness.json()).toEqual({ status: "ok", upstreams: { codex: "ready" } });
    expect(pidOf(gateway)).toBeGreaterThan(0);
  });
});
