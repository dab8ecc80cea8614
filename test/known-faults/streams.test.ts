import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";
import {
  askWithin,
  bodyFor,
  doors,
  doorUrl,
  readAnswer,
  type DoorName,
} from "../support/client.ts";
import { chunk, answerInChat } from "../support/fake-model.ts";
import {
  done,
  frame,
  hang,
  json,
  sse,
  type Answer,
  type Body,
  type Model,
  type Step,
} from "../support/fake-upstream.ts";
import { untilUnchanged, until } from "../support/loopback.ts";
import { onto } from "../support/serve.ts";
import { fakeBackedGateway } from "./gateway.ts";

/** A stream of these deltas, that ends as it should. */
const streaming =
  (finish: string, ...deltas: readonly unknown[]): Model =>
  () =>
    sse(...deltas.map((delta) => chunk(0, delta)), chunk(0, {}, finish), done);

/** A stream of these pieces of calls. */
const calling = (...entries: readonly unknown[]): Model =>
  streaming(
    "tool_calls",
    { role: "assistant", content: null },
    ...entries.map((entry) => ({ tool_calls: [entry] })),
  );

const begin = (more: Body = {}): Body => ({
  index: 0,
  id: "call_1",
  type: "function",
  function: { name: "lookup", arguments: "" },
  ...more,
});
const lookup = { id: "call_1", kind: "function", name: "lookup", input: '{"q":"x"}' };
const tools = {
  chat: [
    { type: "function", function: { name: "lookup", parameters: { type: "object" } } },
    { type: "custom", custom: { name: "write" } },
  ],
  responses: [
    { type: "function", name: "lookup", parameters: { type: "object" } },
    { type: "custom", name: "write" },
  ],
};

/** The calls that a client is told of, in both ways. */
async function callsOf(model: Model, door: DoorName): Promise<unknown[]> {
  await using here = await fakeBackedGateway(model);
  const [streamed, whole] = await Promise.all(
    [true, false].map(async (stream) =>
      readAnswer(door, await askWithin(here, door, { stream, tools: tools[door] })),
    ),
  );
  expect(whole?.calls).toEqual(streamed?.calls);
  expect(streamed?.error).toBeUndefined();
  return [...(streamed?.calls ?? [])];
}

describe.each(doors)("a stream of calls at the %s door", (door) => {
  it.each([
    ["null", null],
    ["empty", ""],
  ])("keeps the id and the name of a call when later pieces have them %s", async (_, blank) => {
    const more = (text: string): Body => ({
      index: 0,
      id: blank,
      type: blank,
      function: { name: blank, arguments: text },
    });
    const calls = await callsOf(calling(begin(), more('{"q":'), more('"x"}')), door);
    expect(calls).toMatchObject([{ ...lookup, complete: true }]);
  });

  it("keeps calls made at once apart without an index", async () => {
    const piece = (id: string, q: string): Body => ({
      id,
      type: "function",
      function: { name: "lookup", arguments: `{"q":"${q}"}` },
    });
    const header = (id: string): Body => ({ id, function: { name: "lookup", arguments: "" } });
    const rest = (text: string): Body => ({ function: { arguments: text } });
    for (const model of [
      calling(piece("call_1", "x"), piece("call_2", "y")),
      calling(header("call_1"), rest('{"q":"x"}'), header("call_2"), rest('{"q":'), rest('"y"}')),
      streaming("tool_calls", { tool_calls: [piece("call_1", "x"), piece("call_2", "y")] }),
    ])
      expect(await callsOf(model, door)).toMatchObject([
        lookup,
        { id: "call_2", name: "lookup", input: '{"q":"y"}' },
      ]);
  });

  it("joins a name that comes in pieces", async () => {
    const calls = await callsOf(
      calling(
        begin({ function: { name: "loo", arguments: "" } }),
        { index: 0, function: { name: "kup" } },
        { index: 0, function: { arguments: '{"q":"x"}' } },
      ),
      door,
    );
    expect(calls).toMatchObject([lookup]);
  });

  it("waits for a name that comes late, and then knows the kind", async () => {
    const late = (name: string, input: string): Model =>
      calling(
        { index: 0, id: "call_1", type: "function", function: { arguments: "" } },
        { index: 0, function: { name } },
        { index: 0, function: { arguments: input } },
      );
    expect(await callsOf(late("lookup", '{"q":"x"}'), door)).toMatchObject([lookup]);
    expect(await callsOf(late("write", '{"input":"x"}'), door)).toMatchObject([
      { id: "call_1", kind: "custom", name: "write", input: "x" },
    ]);
  });
});

describe.each(doors)("a stream at the %s door", (door) => {
  const hello = [chunk(0, { role: "assistant", content: "Hel" }), chunk(0, { content: "lo" })];
  const words = "The model ran out of memory.";
  const failures: readonly [string, string][] = [
    ["an object", frame({ error: { message: words, code: "oom" } })],
    ["an object full of nulls", frame({ error: { message: words, code: null, type: null } })],
    ["a sentence", frame({ error: words })],
    ["an object of its own", frame({ object: "error", message: words, code: 40_303 })],
    ["a code and a sentence", frame({ code: "1113", message: words })],
    ["a detail", frame({ detail: words })],
    ["a status of its own", frame({ base_resp: { status_code: 1004, status_msg: words } })],
    ["a list", frame({ errors: [{ code: "bad_input", message: words }], trace: "t" })],
    ["a number and a sentence", frame({ id: "x", error_code: 336_501, error_msg: words })],
    ["a field of the provider's", frame({ choices: [], x_groq: { id: "x", error: words } })],
    ["a word that every object knows", frame({ error: { message: words, code: "constructor" } })],
    ["a line that is no frame", `error: {"code":500,"message":"${words}"}\n\n`],
    ["a choice", frame({ choices: [{ index: 0, delta: {}, error: { message: words } }] })],
    ["a named event", `event: error\n${frame({ message: words })}`],
    ["a named event in plain text", `event: error\ndata: ${words}\n\n`],
  ];
  const tell = async (answer: Answer, stream = true) => {
    await using here = await fakeBackedGateway(() => answer);
    return readAnswer(door, await askWithin(here, door, { stream }));
  };

  it.each(failures)(
    "says what the upstream said when it fails in mid-answer, by %s",
    async (_, said) => {
      const { text, error } = await tell(sse(...hello, said, done));
      expect(text).toBe("Hello");
      expect(JSON.stringify(error)).toContain(words);
    },
  );

  it.each(failures)(
    "is an HTTP error in the upstream's words when it fails at once, by %s",
    async (_, said) => {
      for (const stream of [true, false]) {
        const { status, error } = await tell(sse(said, done), stream);
        expect(status).toBe(502);
        expect(error?.["message"]).toContain(words);
      }
    },
  );

  it("is an HTTP error when there is nothing in it", async () => {
    for (const stream of [true, false])
      for (const answer of [sse(), sse(done)])
        expect(await tell(answer, stream)).toMatchObject({
          status: 502,
          error: { code: "upstream.empty" },
        });
  });

  it("holds the text that comes behind the end of its choice", async () => {
    const late = chunk(0, { content: "!" });
    for (const stream of [true, false])
      expect(await tell(sse(...hello, chunk(0, {}, "stop"), late, done), stream)).toMatchObject({
        text: "Hello!",
        stop: door === "chat" ? "stop" : "completed",
        error: undefined,
      });
  });

  it("keeps two choices apart", async () => {
    const both = [0, 1].flatMap((index) => [
      chunk(index, { role: "assistant", content: index === 0 ? "yes" : "no" }),
      chunk(index, {}, "stop"),
    ]);
    for (const stream of [true, false])
      expect(await tell(sse(...both, done), stream)).toMatchObject({ text: "yes" });
    if (door === "responses") return;
    await using here = await fakeBackedGateway(() => sse(...both, done));
    const { choices } = (await (await askWithin(here, door, { n: 2 })).json()) as Body;
    expect((choices as Body[]).map(({ message }) => message.content as string)).toEqual([
      "yes",
      "no",
    ]);
  });

  it("keeps a refusal", async () => {
    for (const stream of [true, false]) {
      await using here = await fakeBackedGateway(({ body }) =>
        answerInChat(body, { refusal: "I will not." }),
      );
      const { text, refusal } = await readAnswer(door, await askWithin(here, door, { stream }));
      expect({ text, refusal }).toEqual({ text: "", refusal: "I will not." });
    }
  });

  it("reads text that comes as a list of parts", async () => {
    const parts = (text: string): string => chunk(0, { content: [{ type: "text", text }] });
    for (const profile of ["generic-chat", "deepseek"]) {
      const steps: Step[] = [parts("Hel"), parts("lo"), chunk(0, {}, "stop"), done];
      await using here = await fakeBackedGateway(() => sse(...steps), { profile });
      for (const stream of [true, false])
        expect((await readAnswer(door, await askWithin(here, door, { stream }))).text).toBe(
          "Hello",
        );
    }
  });

  it.each([true, false])(
    "takes the upstream along when it is left (stream: %s)",
    async (stream) => {
      await using here = await fakeBackedGateway(() => sse(...hello, hang));
      const abort = new AbortController();
      const asked = askWithin(here, door, { stream }, { signal: abort.signal });
      const read = asked.then((response) => response.text()).catch((error: Error) => error.name);
      await until(() => here.requests.length === 1);
      if (stream) await asked;
      abort.abort();
      await here.requests[0]?.closed;
      expect(here.requests[0]?.abandoned()).toBe(true);
      expect(await read).toBe("AbortError");
    },
  );

  it("slows the upstream down for a slow client", async () => {
    const piece = "x".repeat(16_000);
    let sent = 0;
    function* steps(): Generator<string> {
      for (; sent < 3_200; sent++) yield chunk(0, { content: piece });
    }
    await using here = await fakeBackedGateway(() => ({ ...sse(), steps: steps() }));
    const asking = request(doorUrl(here, door), {
      method: "POST",
      headers: { "content-type": "application/json" },
    });
    asking.end(JSON.stringify(bodyFor(door, { stream: true })));
    const [response] = (await once(asking, "response")) as [IncomingMessage];
    await untilUnchanged(() => sent);
    // What is beyond the few megabytes of the sockets would be held by the gateway.
    expect(sent * piece.length).toBeLessThan(25_000_000);
    response.destroy();
    await here.requests[0]?.closed;
  });
});

describe.concurrent.each(doors)("an upstream that keeps the %s door waiting", (door) => {
  it("before its headers is given up with 504", async () => {
    await using here = await fakeBackedGateway(() => sse(hang), { timeouts: { headers: 100 } });
    const both = [true, false].map((stream) => askWithin(here, door, { stream }));
    for (const response of await Promise.all(both))
      expect(await readAnswer(door, response)).toMatchObject({
        status: 504,
        error: { code: "upstream.headers_timeout" },
      });
  });

  it("in mid-answer is given up too", async () => {
    const model: Model = () => sse(chunk(0, { content: "Hel" }), hang);
    await using here = await fakeBackedGateway(model, { timeouts: { idle: 100 } });
    const both = [true, false].map(async (stream) =>
      readAnswer(door, await askWithin(here, door, { stream })),
    );
    const [streamed, whole] = await Promise.all(both);
    expect(streamed?.text).toBe("Hel");
    expect(JSON.stringify(streamed?.error)).toContain("upstream.idle_timeout");
    expect(whole).toMatchObject({ status: 504, error: { code: "upstream.idle_timeout" } });
  });

  it("and then asks to come back later is tried again", async () => {
    const busy = json({ error: { message: "Busy." } }, 503, { "retry-after": "0" });
    const model: Model = ({ body }, index) =>
      index % 2 === 0 ? busy : answerInChat(body, { text: "At last." });
    await using here = await fakeBackedGateway(model, { retries: 1 });
    for (const stream of [true, false])
      expect((await readAnswer(door, await askWithin(here, door, { stream }))).text).toBe(
        "At last.",
      );
  });
});

it("patience has limits, and retries happen, though nothing is configured", () => {
  const { upstreams } = parseConfig(onto("chat", "http://127.0.0.1:1/v1", { retries: undefined }));
  const limit = expect.any(Number) as number;
  expect(upstreams["fake"]).toMatchObject({
    timeouts: { connect: limit, headers: limit, idle: limit },
    retries: 2,
  });
});

describe.each(doors)("a conversation that is too long, at the %s door", (door) => {
  const error = {
    type: "invalid_request_error",
    message: "prompt is too long: 208310 tokens > 200000 maximum",
  };

  it.each([
    ["with a status", () => json({ type: "error", error }, 400)],
    ["in a stream", () => sse(`event: error\n${frame({ type: "error", error })}`)],
  ])("is told by the code that clients compact on, %s", async (_, model) => {
    await using here = await fakeBackedGateway(model, { dialect: "messages" });
    const answer = await readAnswer(door, await askWithin(here, door, { stream: true }));
    expect(answer.status).toBe(400);
    expect(answer.error).toMatchObject({ code: "context_length_exceeded" });
  });
});
