/**
 * The seventeen checks of the public compliance list of Open Responses, by
 * their ids there, written here against a gateway in front of every dialect.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { framesOf } from "../support/client-answer.ts";
import { answerInChat, answerInResponses, type FakeAnswer } from "../support/fake-model.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import {
  fakeUpstream,
  type Answer,
  type Body,
  type FakeUpstream,
  type Step,
} from "../support/fake-upstream.ts";
import {
  compactionFaults,
  eventFaults,
  hasEvent,
  responseFaults,
} from "../support/open-responses.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { socketClient } from "../support/socket-client.ts";

const backends = {
  chat: answerInChat,
  responses: answerInResponses,
  messages: answerInMessages,
} as const;

/** Calls the tool where there is one, and repeats the code word that it was told. */
function say(body: Body): FakeAnswer {
  const text = JSON.stringify(body);
  if (body["tools"]?.length > 0 && !text.includes("Sunny"))
    return { calls: [{ id: "call_1", name: "get_weather", arguments: '{"location":"Paris"}' }] };
  if (text.includes("Summarize the conversation")) return { text: "The code word is slate." };
  return { text: /code word is (\w+)/.exec(text)?.[1] ?? "Hello there, friend." };
}

/** The fake model gives every answer the same id, which no provider of this API does. */
const withOwnId = (answer: Answer, at: number): Answer => ({
  ...answer,
  steps: [...(answer.steps as Iterable<Step>)].map((step) =>
    typeof step === "string" ? step.replaceAll("resp_fake", `resp_fake${at}`) : step,
  ),
});

/** The events of a stream, without what ends it. */
const readSse = (text: string): Body[] =>
  framesOf(text)
    .filter(({ data }) => data !== "[DONE]")
    .map(({ data }) => JSON.parse(data) as Body);

const user = (content: unknown): Body => ({ type: "message", role: "user", content });
const tool = {
  type: "function",
  name: "get_weather",
  description: "The weather of a place",
  parameters: { type: "object", properties: { location: { type: "string" } } },
};
const pixel =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe.each(Object.entries(backends))("Open Responses on a %s upstream", (dialect, answer) => {
  let upstream: FakeUpstream;
  let served: Served;
  beforeAll(async () => {
    upstream = await fakeUpstream(({ body }, at) => withOwnId(answer(body, say(body)), at));
    served = await serve(onto(dialect as keyof typeof backends, upstream.url));
  });
  afterAll(async () => {
    await served[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  const post = (path: string, body: Body): Promise<Response> =>
    fetch(`${served.url}/v1${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  /** A whole answer that keeps to the schema. */
  async function create(body: Body): Promise<Body> {
    const response = await post("/responses", { model: "m", ...body });
    const got = (await response.json()) as Body;
    expect(response.status).toBe(200);
    expect(responseFaults(got)).toEqual([]);
    expect(got["status"]).toBe("completed");
    expect(got["output"].length).toBeGreaterThan(0);
    return got;
  }
  function judge(events: readonly Body[]): Body {
    for (const event of events) expect(hasEvent(String(event["type"]))).toBe(true);
    expect(events.flatMap((event) => eventFaults(event as { type: string }))).toEqual([]);
    const response = events.at(-1)?.["response"] as Body;
    expect(responseFaults(response)).toEqual([]);
    expect(response["status"]).toBe("completed");
    return response;
  }
  const textOf = ({ output }: Body): string => String(output.at(-1)?.content?.[0]?.text);
  const outcome = (events: readonly Body[]): unknown => {
    const last = events.at(-1);
    return last?.["error"]?.code ?? last?.["type"];
  };

  it("basic-response", async () => {
    expect(textOf(await create({ input: [user("Say hello.")] }))).toBe("Hello there, friend.");
  });

  it("assistant-phase and response-output-phase-schema", async () => {
    const history = [
      user("Hi"),
      { type: "message", role: "assistant", phase: "commentary", content: "Looking." },
      { type: "message", role: "assistant", phase: "final_answer", content: "Done." },
      user("And now?"),
    ];
    const got = await create({ input: history });
    const [message] = got["output"];
    expect(responseFaults({ ...got, output: [{ ...message, phase: "final_answer" }] })).toEqual([]);
  });

  it("streaming-response", async () => {
    const response = await post("/responses", {
      model: "m",
      input: [user("Count.")],
      stream: true,
    });
    expect(textOf(judge(readSse(await response.text())))).toBe("Hello there, friend.");
  });

  it("system-prompt", async () => {
    const system = { type: "message", role: "system", content: "You are a pirate." };
    await create({ input: [system, user("Say hello.")] });
    expect(upstream.requests.at(-1)?.text).toContain("You are a pirate.");
  });

  it("tool-calling", async () => {
    const got = await create({ input: [user("The weather?")], tools: [tool] });
    expect(got["output"][0]).toMatchObject({ type: "function_call", name: "get_weather" });
    const request = { model: "m", input: [user("The weather?")], tools: [tool], stream: true };
    const types = readSse(await (await post("/responses", request)).text()).map(({ type }) => type);
    for (const type of ["output_item.added", "function_call_arguments.done", "output_item.done"])
      expect(types).toContain(`response.${type}`);
  });

  it("image-input", async () => {
    const content = [
      { type: "input_text", text: "What is this?" },
      { type: "input_image", image_url: pixel },
    ];
    await create({ input: [user(content)] });
    expect(upstream.requests.at(-1)?.text).toContain(pixel.slice(-40));
  });

  it("multi-turn", async () => {
    const assistant = { type: "message", role: "assistant", content: "Hello Alice!" };
    await create({ input: [user("My name is Alice."), assistant, user("What is my name?")] });
    expect(upstream.requests.at(-1)?.text).toContain("Hello Alice!");
  });

  it("compact-response and compact-missing-model", async () => {
    const input = [user("We launch on Tuesday."), { role: "assistant", content: "Understood." }];
    const response = await post("/responses/compact", { model: "m", prompt_cache_key: "k", input });
    const compacted = (await response.json()) as Body;
    expect(response.status).toBe(200);
    expect(compactionFaults(compacted)).toEqual([]);
    expect(compacted["output"].at(-1)).toMatchObject({ type: "compaction" });
    expect((await post("/responses/compact", { input })).status).toBe(400);
  });

  it("websocket-response and websocket-sequential-responses", async () => {
    await using client = await socketClient(served.url);
    for (const input of ["first", "second"])
      expect(textOf(judge(await client.create({ store: false, input })))).toMatch(/^Hello/);
  });

  it("websocket-continuation", async () => {
    await using client = await socketClient(served.url);
    const first = judge(
      await client.create({ store: false, input: "Remember: the code word is ember." }),
    );
    const again = { store: false, input: "Which?", previous_response_id: first["id"] };
    const second = judge(await client.create(again));
    expect(textOf(second)).toBe("ember");
    expect(second["previous_response_id"]).toBe(first["id"]);
    const third = { store: false, input: "Again?", previous_response_id: second["id"] };
    judge(await client.create(third));
    expect(upstream.requests.at(-1)?.text).toMatch(/ember.*Which\?.*Again\?/);
  });

  it("websocket-reconnect-store-false-recovery", async () => {
    const id = await (async () => {
      await using client = await socketClient(served.url);
      return judge(await client.create({ store: false, input: "Hello" }))["id"] as string;
    })();
    await using client = await socketClient(served.url);
    const lost = await client.create({ store: false, input: "On", previous_response_id: id });
    expect(outcome(lost)).toBe("previous_response_not_found");
    judge(await client.create({ store: false, input: [user("A new start.")] }));
  });

  it("websocket-previous-response-not-found", async () => {
    await using client = await socketClient(served.url);
    const request = { store: false, input: "On", previous_response_id: "resp_missing" };
    const [event] = await client.create(request);
    expect(event).toMatchObject({
      type: "error",
      status: 400,
      error: { code: "previous_response_not_found", param: "previous_response_id" },
    });
  });

  it("websocket-failed-continuation-evicts-cache", async () => {
    await using client = await socketClient(served.url);
    const first = judge(await client.create({ store: false, input: "Hello" }));
    const previous_response_id = first["id"] as string;
    const output = { type: "function_call_output", call_id: "call_missing", output: "?" };
    const failed = await client.create({ store: false, previous_response_id, input: [output] });
    expect(failed.at(-1)).toMatchObject({ type: "error", status: 400 });
    const retried = await client.create({ store: false, previous_response_id, input: "On" });
    expect(outcome(retried)).toBe("previous_response_not_found");
  });

  it("websocket-compact-new-chain", async () => {
    const input = [
      user([{ type: "input_text", text: "Remember the code word." }]),
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "OK." }] },
    ];
    const response = await post("/responses/compact", { model: "m", input });
    const { output } = (await response.json()) as Body;
    await using client = await socketClient(served.url);
    const next = { store: false, input: [...output, user("Which?")], tools: [] };
    expect(textOf(judge(await client.create(next)))).toBe("slate");
  });
});
