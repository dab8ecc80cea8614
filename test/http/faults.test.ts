import { describe, expect, it } from "vitest";
import { ask, doors, readAnswer, readDoors, type DoorName } from "../support/client.ts";
import { chunk, named, answerInChat, answerInResponses } from "../support/fake-model.ts";
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
  type Model,
} from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

/** Short timeouts for what waits for them; a busy machine needs longer for all else. */
const patienceFor = (code: string): Readonly<Record<string, unknown>> =>
  code === "upstream.headers_timeout"
    ? { timeouts: { headers: 150 } }
    : code === "upstream.idle_timeout"
      ? { timeouts: { idle: 150 } }
      : {};
const quota = {
  message: "No tokens left.",
  type: "insufficient_quota",
  code: "insufficient_quota",
};

type Case = {
  readonly what: string;
  readonly answer: Answer;
  readonly status: number;
  readonly code: string;
  readonly says?: string;
  /** Whether the same request may succeed later, where the status does not tell. */
  readonly again?: boolean;
};

/** What may go wrong before an upstream has said anything. */
const early: readonly Case[] = [
  {
    what: "rejects its key",
    answer: json({ error: { message: "Bad key.", code: "invalid_api_key" } }, 401),
    status: 401,
    code: "invalid_api_key",
    says: "api_key",
  },
  {
    what: "forbids it",
    answer: json({ error: { message: "Not for you." } }, 403),
    status: 403,
    code: "upstream.forbidden",
    says: "Not for you.",
  },
  {
    what: "does not know the model",
    answer: json({ error: { message: "No such model.", code: "model_not_found" } }, 404),
    status: 404,
    code: "model_not_found",
    says: "No such model.",
  },
  {
    what: "rejects the request",
    answer: json({ error: { message: "Too hot.", param: "temperature" } }, 422),
    status: 422,
    code: "upstream.refused",
    says: "Too hot.",
    again: false,
  },
  {
    what: "asks to slow down",
    answer: json({ error: { message: "Slow down." } }, 429, { "retry-after": "7" }),
    status: 429,
    code: "upstream.rate_limited",
    says: "Slow down.",
  },
  {
    what: "has an error",
    answer: json("<h1>Internal Server Error</h1>", 500, { "content-type": "text/html" }),
    status: 502,
    code: "upstream.failed",
    says: "Internal Server Error",
  },
  {
    what: "is overloaded",
    answer: json({ error: { message: "Busy." } }, 503),
    status: 503,
    code: "upstream.overloaded",
    says: "Busy.",
  },
  {
    what: "hangs before its headers",
    answer: sse(hang),
    status: 504,
    code: "upstream.headers_timeout",
  },
  {
    what: "closes before its headers",
    answer: sse(cut),
    status: 502,
    code: "upstream.unreachable",
  },
  { what: "sends nothing", answer: sse(), status: 502, code: "upstream.empty" },
  { what: "sends only the end", answer: sse(done), status: 502, code: "upstream.empty" },
  { what: "sends only comments", answer: sse(": hi\n\n"), status: 502, code: "upstream.empty" },
  {
    what: "knows that it will stay so",
    answer: json({ error: { message: "Never." } }, 500, { "x-should-retry": "false" }),
    status: 502,
    code: "upstream.failed",
    again: false,
  },
  {
    what: "sends an error in its stream at once",
    answer: sse(frame({ error: quota }), done),
    status: 429,
    code: "insufficient_quota",
    says: "No tokens left.",
    again: false,
  },
  {
    what: "sends an error as a body with status 200",
    answer: json({ error: quota }),
    status: 429,
    code: "insufficient_quota",
    says: "No tokens left.",
    again: false,
  },
  {
    what: "sends half a body",
    answer: json('{"choices":[{'),
    status: 502,
    code: "upstream.malformed",
  },
  {
    what: "sends a web page",
    answer: json("<!doctype html>"),
    status: 502,
    code: "upstream.malformed",
  },
];

/** The beginning of an answer, with half a call in it. */
const begun: Record<DoorName, readonly string[]> = {
  chat: [
    chunk(0, { role: "assistant", content: "" }),
    chunk(0, { content: "Let me see." }),
    chunk(0, {
      tool_calls: [
        { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "" } },
      ],
    }),
    chunk(0, { tool_calls: [{ index: 0, function: { arguments: '{"city":"Pa' } }] }),
  ],
  responses: [
    {
      type: "response.created",
      response: { id: "resp_1", object: "response", status: "in_progress", model: "m", output: [] },
    },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { type: "message", id: "msg_1", role: "assistant", status: "in_progress", content: [] },
    },
    {
      type: "response.content_part.added",
      output_index: 0,
      content_index: 0,
      item_id: "msg_1",
      part: { type: "output_text", text: "", annotations: [] },
    },
    {
      type: "response.output_text.delta",
      output_index: 0,
      content_index: 0,
      item_id: "msg_1",
      delta: "Let me see.",
      logprobs: [],
    },
    {
      type: "response.output_text.done",
      output_index: 0,
      content_index: 0,
      item_id: "msg_1",
      text: "Let me see.",
      logprobs: [],
    },
    {
      type: "response.content_part.done",
      output_index: 0,
      content_index: 0,
      item_id: "msg_1",
      part: { type: "output_text", text: "Let me see.", annotations: [] },
    },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Let me see.", annotations: [] }],
      },
    },
    {
      type: "response.output_item.added",
      output_index: 1,
      item: {
        type: "function_call",
        id: "fc_1",
        call_id: "call_1",
        name: "f",
        arguments: "",
        status: "in_progress",
      },
    },
    {
      type: "response.function_call_arguments.delta",
      output_index: 1,
      item_id: "fc_1",
      delta: '{"city":"Pa',
    },
  ].map((event, sequence_number) => named(Object.assign(event, { sequence_number }))),
};

const errorFrame: Record<DoorName, string> = {
  chat: frame({ error: quota }),
  responses: named(Object.assign({ type: "error", sequence_number: 9 }, quota, { type: "error" })),
};

type Late = {
  readonly what: string;
  readonly ends: (dialect: DoorName) => Parameters<typeof sse>;
  readonly code: string;
  readonly status: number;
};

/** What may go wrong in the middle of an answer. */
const late: readonly Late[] = [
  {
    what: "falls silent",
    ends: () => [hang],
    code: "upstream.idle_timeout",
    status: 504,
  },
  { what: "breaks off", ends: () => [cut], code: "upstream.cut", status: 502 },
  { what: "closes in mid-arguments", ends: () => [], code: "upstream.cut", status: 502 },
  {
    what: "says it is done in mid-arguments",
    ends: () => [done],
    code: "upstream.cut",
    status: 502,
  },
  {
    what: "sends an error",
    ends: (dialect) => [errorFrame[dialect]],
    code: "insufficient_quota",
    status: 429,
  },
  {
    what: "sends an error and goes on",
    ends: (dialect) => [errorFrame[dialect], ...begun[dialect].slice(-1), done],
    code: "insufficient_quota",
    status: 429,
  },
];

/** Whoever reads of a failure is told whose it is and what to do. */
const WHO = /^Upstream `fake`/;
const REMEDY = /\b(?:[Tt]ry again|Check|[Rr]aise its)\b/;

// Nearly all of their time is spent waiting, so they wait together.
describe.concurrent.each(readDoors)("at the %s door", (door) => {
  describe.each(doors)("a %s upstream", (dialect) => {
    it.each(early)("that $what is an error with its status", async (fault) => {
      await using upstream = await fakeUpstream(() => fault.answer);
      await using served = await serve(onto(dialect, upstream.url, patienceFor(fault.code)));
      const both = [true, false].map(async (stream) => {
        const response = await ask(served, door, { stream });
        const { status, error } = await readAnswer(door, response);
        const retryAfter = response.headers.get("retry-after") ?? undefined;
        expect(response.headers.get("x-should-retry")).toBe(String(fault.again ?? status > 404));
        return { status, code: error?.["code"] as string, retryAfter, error };
      });
      for (const { error, ...said } of await Promise.all(both)) {
        const { status, code, answer } = fault;
        expect(said).toEqual({ status, code, retryAfter: answer.headers?.["retry-after"] });
        expect(error?.["message"]).toContain(fault.says ?? "pstream");
        expect(error?.["message"]).toMatch(WHO);
        expect(error?.["message"]).toMatch(code === "upstream.refused" ? /hot/ : REMEDY);
      }
      expect(served.turns().map(({ outcome }) => outcome)).toEqual(["failed", "failed"]);
    });

    it.each(late)("that $what is one honest end", async ({ ends, code, status }) => {
      await using upstream = await fakeUpstream(() => sse(...begun[dialect], ...ends(dialect)));
      await using served = await serve(onto(dialect, upstream.url, patienceFor(code)));
      const [streamed, whole] = await Promise.all([
        ask(served, door, { stream: true }).then((response) => readAnswer(door, response)),
        ask(served, door, { stream: false }).then((response) => readAnswer(door, response)),
      ]);
      expect(streamed).toMatchObject({ status: 200, text: "Let me see." });
      expect(errorCode(streamed.error)).toBe(code);
      // Gemini clients run every call that they see.
      expect(streamed.calls).toMatchObject(door === "gemini" ? [] : [begunCall]);
      expect(whole).toMatchObject({ status, error: { code } });
      for (const { error } of [streamed, whole]) {
        expect((error?.["error"] ?? error)?.message).toMatch(WHO);
        expect((error?.["error"] ?? error)?.message).toMatch(REMEDY);
      }
    });

    it("that cannot be reached is an error that says where it should have been", async () => {
      // Another process may take a port that was just closed; none listens at this one.
      const url = "http://127.0.0.1:9";
      await using served = await serve(onto(dialect, `${url}/v1`));
      for (const stream of [true, false]) {
        const { status, error } = await readAnswer(door, await ask(served, door, { stream }));
        expect(status).toBe(502);
        expect(error).toMatchObject({ code: "upstream.unreachable" });
        expect(error?.["message"]).toContain(url);
      }
    });

    it("that is cut short by its own limit says so, and its half call is none", async () => {
      await using upstream = await fakeUpstream(() => sse(...begun[dialect], ...limit[dialect]));
      await using served = await serve(onto(dialect, upstream.url));
      for (const stream of [true, false]) {
        const { status, stop, calls } = await readAnswer(door, await ask(served, door, { stream }));
        expect(status).toBe(200);
        expect(stop).toBe(lengths[door]);
        expect(calls.filter((call) => call.complete)).toEqual([]);
      }
    });
  });
});

const begunCall = { id: "call_1", name: "f", input: '{"city":"Pa', complete: false };

const lengths = { chat: "length", responses: "max_output_tokens", gemini: "MAX_TOKENS" };

/** Dialects say it flat, or in an object. */
const errorCode = (error: Body | undefined): unknown => error?.["code"] ?? error?.["error"]?.code;

const limit: Record<DoorName, readonly string[]> = {
  chat: [chunk(0, {}, "length"), done],
  responses: [
    named(
      Object.assign(
        { type: "response.incomplete", sequence_number: 9 },
        {
          response: {
            id: "resp_1",
            object: "response",
            status: "incomplete",
            incomplete_details: { reason: "max_output_tokens" },
            model: "m",
            output: [],
          },
        },
      ),
    ),
  ],
};

const failingFirst =
  (times: number, answer: Answer): Model =>
  ({ body }, index) =>
    index < times ? answer : answerInChat(body, { text: "At last." });

const busy = json({ error: { message: "Busy." } }, 503, { "retry-after": "0" });

describe.concurrent("a turn that fails before its first event", () => {
  it.each(readDoors)("is tried again, as often as configured, at the %s door", async (door) => {
    await using upstream = await fakeUpstream(failingFirst(2, busy));
    await using served = await serve(onto("chat", upstream.url, { retries: 2 }));
    for (const stream of [true, false])
      expect(await readAnswer(door, await ask(served, door, { stream }))).toMatchObject({
        text: "At last.",
      });
    expect(upstream.requests).toHaveLength(4);

    await using hopeless = await fakeUpstream(() => busy);
    await using other = await serve(onto("chat", hopeless.url, { retries: 2 }));
    expect((await ask(other, door)).status).toBe(503);
    expect(hopeless.requests).toHaveLength(3);
  });

  it("is not tried again when the request is to blame", async () => {
    await using upstream = await fakeUpstream(() => json({ error: { message: "No." } }, 400));
    await using served = await serve(onto("chat", upstream.url, { retries: 2 }));
    expect((await ask(served, "chat")).status).toBe(400);
    expect(upstream.requests).toHaveLength(1);
  });

  it.each(readDoors)("goes to the next upstream of its chain, at the %s door", async (door) => {
    const hopeless: readonly Answer[] = [
      busy,
      json({}, 401),
      json({}, 404),
      json({}, 429),
      json({}, 500),
      sse(cut),
      sse(hang),
      sse(),
      sse(frame({ error: { message: "Out of memory.", type: "server_error" } })),
    ];
    let turn = 0;
    await using first = await fakeUpstream(() => hopeless[turn] ?? busy);
    await using second = await fakeUpstream(({ body }) =>
      answerInResponses(body, { text: "Here." }),
    );
    await using served = await serve({
      upstreams: {
        one: { dialect: "chat", base_url: first.url, retries: 5, timeouts: { headers: 500 } },
        two: { dialect: "responses", base_url: second.url },
      },
      models: { m: ["one/a", "two/b"] },
    });
    for (; turn < hopeless.length; turn++) {
      const response = await ask(served, door, { stream: turn % 2 === 0 });
      expect(response.headers.get("x-patchbay-upstream")).toBe("two/b");
      expect(await readAnswer(door, response)).toMatchObject({ status: 200, text: "Here." });
    }
    expect(first.requests).toHaveLength(hopeless.length);
    const fallbacks = served.happenings.filter(({ type }) => type === "fallback");
    expect(fallbacks).toHaveLength(hopeless.length);
    expect(fallbacks[0]).toMatchObject({
      from: "one/a",
      to: "two/b",
      fault: "upstream.overloaded",
    });
  });

  it("stays where it is when no other upstream would do better", async () => {
    await using first = await fakeUpstream(() => json({ error: { message: "No." } }, 400));
    await using second = await fakeUpstream(({ body }) => answerInChat(body, { text: "Here." }));
    await using served = await serve({
      upstreams: {
        one: { dialect: "chat", base_url: first.url },
        two: { dialect: "chat", base_url: second.url },
      },
      models: { m: ["one/a", "two/b"] },
    });
    expect((await ask(served, "chat")).status).toBe(400);
    expect(second.requests).toHaveLength(0);
  });

  it("is the last upstream's failure when all of them fail", async () => {
    await using first = await fakeUpstream(() => json({}, 500));
    await using second = await fakeUpstream(() => json({ error: { message: "Slow." } }, 429));
    await using served = await serve({
      upstreams: {
        one: { dialect: "chat", base_url: first.url, retries: 0 },
        two: { dialect: "chat", base_url: second.url, retries: 0 },
      },
      models: { m: ["one/a", "two/b"] },
    });
    for (const door of readDoors)
      expect(await readAnswer(door, await ask(served, door))).toMatchObject({
        status: 429,
        error: { message: expect.stringContaining("`two`") as string },
      });
  });
});

it("does not go to the next upstream once the answer has begun", async () => {
  await using first = await fakeUpstream(() => sse(...begun.chat, cut));
  await using second = await fakeUpstream(({ body }) => answerInChat(body, { text: "Here." }));
  await using served = await serve({
    upstreams: {
      one: { dialect: "chat", base_url: first.url },
      two: { dialect: "chat", base_url: second.url },
    },
    models: { m: ["one/a", "two/b"] },
  });
  for (const door of readDoors) {
    const { error } = await readAnswer(door, await ask(served, door, { stream: true }));
    expect(errorCode(error)).toBe("upstream.cut");
  }
  expect(second.requests).toHaveLength(0);
});

it.each([true, false])("blames a field by the client's own name (stream: %s)", async (stream) => {
  const error = { message: "Too many.", param: "max_tokens", code: "invalid_request" };
  await using upstream = await fakeUpstream(() => json({ error }, 400));
  await using served = await serve(onto("chat", upstream.url));
  const response = await ask(served, "responses", { max_output_tokens: 9, stream });
  expect(await response.json()).toMatchObject({ error: { param: "max_output_tokens" } });
});
