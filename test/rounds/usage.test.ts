import { describe, expect, it } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import type { TurnDone } from "../../src/observe/happening.ts";
import { usageLine } from "../../src/observe/lines.ts";
import { answerInGemini, geminiChunk, geminiFrame } from "../support/fake-gemini.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat, answerInResponses, chunk } from "../support/fake-model.ts";
import {
  cut,
  done,
  fakeUpstream,
  frame,
  hang,
  json,
  sse,
  type Answer,
  type Body,
  type FakeUpstream,
  type Step,
} from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { stillClock } from "../support/still-clock.ts";
import { loggedFields } from "../support/turn-done.ts";

const doors = {
  chat: {
    path: "/v1/chat/completions",
    body: { messages: [{ role: "user", content: "Hi" }], stream_options: { include_usage: true } },
  },
  responses: { path: "/v1/responses", body: { input: "Hi" } },
  messages: {
    path: "/v1/messages",
    body: { max_tokens: 4096, messages: [{ role: "user", content: "Hi" }] },
  },
  gemini: {
    path: "/v1beta/models/m:streamGenerateContent?alt=sse",
    body: { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
  },
} as const;
type Door = keyof typeof doors;
const doorNames = Object.keys(doors) as Door[];
const dialects = ["chat", "responses", "messages", "gemini"] as const;
type Dialect = (typeof dialects)[number];

/** "Hi", and the marks around a message. */
const INPUT = 4;

const post = (
  served: Pick<Served, "url">,
  door: Door,
  more: Body = {},
  init: RequestInit = {},
): Promise<Response> =>
  fetch(served.url + doors[door].path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", stream: true, ...doors[door].body, ...more }),
    ...init,
  });

/** What the client is told of tokens: the last count in a stream or body. */
async function told(response: Response): Promise<readonly [number, number] | undefined> {
  const text = await response.text();
  const counts = [
    ...text.matchAll(
      /"(?:(?:prompt|input)_tokens|promptTokenCount)":(\d+).*?"(?:(?:completion|output)_tokens|candidatesTokenCount)":(\d+)/g,
    ),
  ].map(([, input, output]) => [Number(input), Number(output)] as const);
  return counts.at(-1);
}

const word = "four";
/** So many tokens, by the estimate. */
const words = (tokens: number): string => word.repeat(tokens);

/** Asks for a stream and leaves it once so many words have come. */
async function leave(served: Served, door: Door, tokens: number): Promise<number> {
  const abort = new AbortController();
  const before = served.turns().length;
  const response = await post(served, door, {}, { signal: abort.signal });
  if (response.status !== 200) return response.status;
  const decoder = new TextDecoder();
  let count = 0;
  for await (const piece of response.body ?? []) {
    count += decoder.decode(piece as Uint8Array).split("f").length - 1;
    if (count >= tokens) break;
  }
  abort.abort();
  await until(() => served.turns().length > before);
  return response.status;
}

/** The same answer in each dialect, up to where the upstream would count. */
const uncounted: Readonly<Record<Dialect, (asked: Body, text: string, ...end: Step[]) => Answer>> =
  {
    chat: (_, text, ...end) =>
      sse(
        chunk(0, { role: "assistant", content: "" }),
        ...(text.match(/.{1,4000}/g) ?? []).map((content) => chunk(0, { content })),
        ...end,
      ),
    responses: (asked, text, ...end) => before(answerInResponses(asked, { text }), 1, end),
    messages: (asked, text, ...end) => before(answerInMessages(asked, { text }), 2, end),
    gemini: (_, text, ...end) =>
      sse(
        ...(text.match(/.{1,4000}/g) ?? []).map((piece) =>
          geminiFrame({ ...geminiChunk([{ text: piece }]), usageMetadata: undefined }),
        ),
        ...end,
      ),
  };

const before = ({ steps, ...answer }: Answer, last: number, end: readonly Step[]): Answer => ({
  ...answer,
  steps: [...(steps as Step[]).slice(0, -last), ...end],
});

const estimate = (output: number, input = INPUT) => ({
  input,
  output,
  total: input + output,
  estimated: true,
});

describe.each(doorNames)("a client of the %s door that leaves in mid-answer", (door) => {
  it("cannot have 12 answers of 105,000 tokens within a quota of 100,000", async () => {
    await using upstream = await fakeUpstream(({ body }) =>
      uncounted.chat(body, words(105_000), hang),
    );
    const limits = { default: { tokens_per_minute: 100_000 } };
    const clock = stillClock(1_700_000_000_000);
    await using served = await serve({ ...onto("chat", upstream.url), limits }, {}, clock);
    const statuses: number[] = [];
    for (let at = 0; at < 12; at++) statuses.push(await leave(served, door, 105_000));
    expect(statuses).toEqual([200, ...Array.from({ length: 11 }, () => 429)]);
    expect(upstream.requests).toHaveLength(1);
    expect(served.turns()[0]).toMatchObject({ outcome: "left", usage: { total: 105_004 } });
  });

  it.each(dialects)("pays for what a %s upstream has said and been sent", async (dialect) => {
    await using upstream = await fakeUpstream(({ body }) =>
      uncounted[dialect](body, words(500), hang),
    );
    await using served = await serve(onto(dialect, upstream.url));
    await leave(served, door, 500);
    // A Messages upstream counts its input when it begins.
    const input = dialect === "messages" ? 11 : INPUT;
    expect(served.turns()).toMatchObject([{ outcome: "left", usage: estimate(500, input) }]);
  });

  it("pays for its request where the upstream has said nothing yet", async () => {
    await using upstream = await fakeUpstream(() => sse(hang));
    await using served = await serve(onto("chat", upstream.url));
    const abort = new AbortController();
    const asked = post(served, door, {}, { signal: abort.signal }).catch(() => {});
    await until(() => upstream.requests.length === 1);
    abort.abort();
    await asked;
    await until(() => served.turns().length === 1);
    expect(served.turns()).toMatchObject([{ outcome: "left", usage: estimate(0) }]);
  });
});

describe("a client with a quota", () => {
  it("is let in by what the answers under way have come to", async () => {
    await using upstream = await fakeUpstream(({ body }) => uncounted.chat(body, words(600), hang));
    const limits = { default: { tokens_per_minute: 1000 } };
    await using served = await serve(
      { ...onto("chat", upstream.url), limits },
      {},
      stillClock(1_700_000_000_000),
    );
    const abort = new AbortController();
    const statuses: number[] = [];
    for (let at = 0; at < 4; at++) {
      const { status, body } = await post(served, "chat", {}, { signal: abort.signal });
      statuses.push(status);
      if (status !== 200) continue;
      let read = 0;
      for (const reader = body?.getReader(); read < 2400;)
        read += (await reader?.read())?.value?.length ?? 0;
    }
    abort.abort();
    expect(statuses).toEqual([200, 200, 429, 429]);
    await until(() => served.turns().length === 2);
  });

  it("pays nothing for what its upstream refuses", async () => {
    await using upstream = await fakeUpstream(() => json({ error: { message: "No." } }, 400));
    const limits = { default: { tokens_per_minute: 1 } };
    await using served = await serve({ ...onto("chat", upstream.url), limits });
    for (let at = 0; at < 3; at++) expect((await post(served, "chat")).status).toBe(400);
    expect(served.turns().map(({ usage }) => usage)).toEqual([undefined, undefined, undefined]);
  });
});

const call = (index: number): string =>
  chunk(0, {
    tool_calls: [
      { index, id: `c${index}`, type: "function", function: { name: "act", arguments: "{}" } },
    ],
  });
const tools = [{ type: "function", function: { name: "act", parameters: { type: "object" } } }];

/** Why an upstream's count is not to be had, by what happens to a stream of 50 tokens. */
const reasons: Readonly<
  Record<string, { steps: Step[]; more?: ConfigInput; profile?: string; asked?: Body }>
> = {
  "is cut off": { steps: [cut] },
  "never counts": { steps: [chunk(0, {}, "stop"), done] },
  "fails in mid-answer": { steps: [frame({ error: { message: "No." } })] },
  "is stopped at a stop sequence": {
    steps: [chunk(0, { content: "STOP" }), hang],
    profile: "minimax",
    asked: { stop: ["STOP"] },
  },
  "is stopped after its calls": {
    steps: [call(0), hang],
    more: { tools: { stop_after: true, stop_after_mode: "first", stop_after_grace_ms: 1 } },
    asked: { tools },
  },
};

describe.each(Object.entries(reasons))("what an upstream used that %s", (name, reason) => {
  const { steps, more = {}, profile, asked = {} } = reason;

  it.each([true, false])("is estimated in every account of it (stream: %s)", async (stream) => {
    await using upstream = await fakeUpstream(({ body }) =>
      uncounted.chat(body, words(50), ...steps),
    );
    const to = onto("chat", upstream.url, profile === undefined ? {} : { profile });
    await using served = await serve({ ...to, ...more });
    const form = { ...asked, stream, ...(!stream && { stream_options: undefined }) };
    const counts = await told(await post(served, "chat", form));
    const [turn] = served.turns() as [TurnDone];
    const usage = turn.usage ?? { input: 0, output: 0, total: 0 };
    expect(usage).toMatchObject({ estimated: true, total: usage.input + usage.output });
    expect(usage.input).toBeGreaterThanOrEqual(INPUT);
    expect([50, 51, 52]).toContain(usage.output);
    // The client is told where the gateway is why there is no count.
    expect(counts).toEqual(name.includes("stopped") ? [usage.input, usage.output] : undefined);
    const sums = (await (await fetch(`${served.url}/v1/usage`)).json()) as Body;
    expect(sums).toMatchObject({ uncounted_requests: 1, total_tokens: usage.total });
    const metrics = await (await fetch(`${served.url}/metrics`)).text();
    const line = `patchbay_tokens_total{upstream="fake",direction="output"} ${usage.output}`;
    expect(metrics).toContain(line);
    const written = { total_tokens: usage.total, counts_source: "estimate" };
    expect(usageLine(turn)).toMatchObject(written);
    expect(loggedFields(turn)).toMatchObject({ outputTokens: usage.output, tokensEstimated: true });
    const { turns } = (await (await fetch(`${served.url}/v1/turns`)).json()) as Body;
    expect(turns).toMatchObject([{ usage }]);
  });
});

/** Says so much and counts it, so far as the dialect can before its end, and then breaks off. */
const counting: Readonly<Record<Dialect, (asked: Body, text: string) => Answer>> = {
  chat: (asked, text) =>
    uncounted.chat(
      asked,
      text,
      frame({
        choices: [],
        usage: { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 },
      }),
      cut,
    ),
  responses: (asked, text) => uncounted.responses(asked, text, cut),
  messages: (asked, text) => uncounted.messages(asked, text, cut),
  gemini: (asked, text) => uncounted.gemini(asked, text, cut),
};
const answering: Readonly<Record<Dialect, (asked: Body, text: string) => Answer>> = {
  chat: (asked, text) => answerInChat(asked, { text }),
  responses: (asked, text) => answerInResponses(asked, { text }),
  messages: (asked, text) => answerInMessages(asked, { text }),
  gemini: (_, text) => answerInGemini("/m:streamGenerateContent?alt=sse", { text }),
};

const onto2 = (dialect: Dialect, first: FakeUpstream, second: FakeUpstream): ConfigInput => ({
  upstreams: {
    a: { dialect, base_url: first.url, retries: 0 },
    b: { dialect, base_url: second.url, retries: 0 },
  },
  models: { m: ["a/one", "b/two"] },
});

describe.each(doorNames)("a turn that two upstreams answer at the %s door", (door) => {
  it.each(dialects)("is told and charged what both %s upstreams used", async (dialect) => {
    await using first = await fakeUpstream(({ body }) => counting[dialect](body, words(20)));
    await using second = await fakeUpstream(({ body }) => answering[dialect](body, "The rest."));
    await using served = await serve(onto2(dialect, first, second));
    const counts = await told(await post(served, door));
    const input = dialect === "chat" ? 1000 : dialect === "messages" ? 11 : INPUT;
    const usage = { input: input + 11, output: 27, total: input + 38 };
    expect(counts).toEqual([usage.input, usage.output]);
    const [turn] = served.turns() as [TurnDone];
    expect(turn).toMatchObject({ outcome: "completed", rounds: 2, usage });
    expect(turn.usage?.estimated).toBe(dialect === "chat" ? undefined : true);
    const rounds = served.happenings.filter(({ type }) => type === "round");
    expect(rounds).toMatchObject([
      { round: 1, fault: "upstream.cut", usage: { input, output: 20 } },
      { round: 2, usage: { input: 11, output: 7 } },
    ]);
  });
});
