import { RateLimitError, type APIError, type OpenAI } from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { upstreamDialects, type DoorName } from "../support/client.ts";
import {
  chunk,
  named,
  answerInChat,
  answerInResponses,
  type FakeAnswer,
} from "../support/fake-model.ts";
import { done, fakeUpstream, frame, hang, sse } from "../support/fake-upstream.ts";
import type { FakeUpstream, Model } from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { clientOf } from "./gateway.ts";

type SdkGateway = AsyncDisposable & { client: OpenAI; served: Served; upstream: FakeUpstream };

async function openSdkGateway(dialect: DoorName, model: Model): Promise<SdkGateway> {
  const upstream = await fakeUpstream(model);
  const served = await serve(onto(dialect, upstream.url));
  return {
    client: clientOf(served),
    served,
    upstream,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

/** A model that says this, in either dialect. */
const saying = {
  chat: (say: FakeAnswer) => openSdkGateway("chat", ({ body }) => answerInChat(body, say)),
  responses: (say: FakeAnswer) =>
    openSdkGateway("responses", ({ body }) => answerInResponses(body, say)),
};

async function gather<T>(items: AsyncIterable<T>): Promise<T[]> {
  const gathered: T[] = [];
  for await (const item of items) gathered.push(item);
  return gathered;
}

const asked = [{ role: "user" as const, content: "Hi" }];
const City = z.object({ name: z.string(), people: z.number() });
const paris = { name: "Paris", people: 2_100_000 };

describe("openai's client", () => {
  it("gets as many choices as it asks for, streamed and not", async () => {
    const says: FakeAnswer[] = [{ text: "one of two" }, { text: "two of two" }];
    await using gateway = await openSdkGateway("chat", ({ body }) =>
      answerInChat(body, ...says.slice(0, body["n"] as number)),
    );
    const { completions } = gateway.client.chat;
    const params = { model: "m", messages: asked, n: 2 };
    const whole = await completions.create(params);
    expect(whole.choices.map((choice) => choice.message.content)).toEqual(
      says.map((say) => say.text),
    );
    const streamed = await completions.stream(params).finalChatCompletion();
    expect(streamed.choices.map((choice) => choice.message.content)).toEqual(
      says.map((say) => say.text),
    );
    expect(streamed.choices.map((choice) => choice.finish_reason)).toEqual(["stop", "stop"]);
  });

  const head = (index: number, input: string): unknown => ({
    index,
    id: `call_${index}`,
    type: "function",
    function: { name: "f", arguments: input },
  });
  const rest = (index: number, input: string): string =>
    chunk(0, { tool_calls: [{ index, function: { arguments: input } }] });

  it.each([
    [
      "at once with the end",
      [chunk(0, { tool_calls: [head(0, "{}"), head(1, "{}")] }, "tool_calls")],
    ],
    [
      "in turns",
      [
        chunk(0, { tool_calls: [head(0, "{")] }),
        chunk(0, { tool_calls: [head(1, "{")] }),
        rest(0, "}"),
        rest(1, "}"),
        chunk(0, {}, "tool_calls"),
      ],
    ],
  ])("hears of every call once that it is done, where they come %s", async (_, frames) => {
    await using gateway = await openSdkGateway("chat", () =>
      sse(chunk(0, { role: "assistant", content: "" }), ...frames, done),
    );
    const finished: string[] = [];
    await gateway.client.chat.completions
      .stream({ model: "m", messages: asked })
      .on("tool_calls.function.arguments.done", (call) => {
        finished.push(`${call.index}${call.arguments}`);
      })
      .done();
    expect(finished).toEqual(["0{}", "1{}"]);
  });

  describe.each(upstreamDialects)("with a %s upstream", (back) => {
    it("parses what was asked for by a schema, through both doors", async () => {
      await using gateway = await saying[back]({ text: JSON.stringify(paris) });
      const { chat, responses } = gateway.client;
      const chatParams = {
        model: "m",
        messages: asked,
        response_format: zodResponseFormat(City, "city"),
      };
      const params = { model: "m", input: "Hi", text: { format: zodTextFormat(City, "city") } };
      const said = await chat.completions.parse(chatParams);
      expect(said.choices[0]?.message.parsed).toEqual(paris);
      const streamed = await chat.completions.stream(chatParams).finalChatCompletion();
      expect(streamed.choices[0]?.message.parsed).toEqual(paris);
      expect((await responses.parse(params)).output_parsed).toEqual(paris);
      expect((await responses.stream(params).finalResponse()).output_parsed).toEqual(paris);
      for (const { text } of gateway.upstream.requests)
        expect(text).toContain('"additionalProperties":false');
    });

    it("hears a refusal as a refusal", async () => {
      await using gateway = await saying[back]({ refusal: "I will not." });
      const { chat, responses } = gateway.client;
      const params = { model: "m", messages: asked };
      const said = await chat.completions.create(params);
      expect(said.choices[0]?.message).toMatchObject({ refusal: "I will not.", content: null });
      const streamed = await chat.completions.stream(params).finalMessage();
      expect(streamed.refusal).toBe("I will not.");
      const refusal = [{ content: [{ type: "refusal", refusal: "I will not." }] }];
      const response = await responses.create({ model: "m", input: "Hi" });
      expect(response.output).toMatchObject(refusal);
      const stream = responses.stream({ model: "m", input: "Hi" });
      expect((await stream.finalResponse()).output).toMatchObject(refusal);
    });

    it("knows an answer that was cut short", async () => {
      await using gateway = await saying[back]({ text: "Once upon", stop: "length" });
      const { chat, responses } = gateway.client;
      const params = { model: "m", messages: asked, max_completion_tokens: 2 };
      const said = await chat.completions.create(params);
      expect(said.choices[0]?.finish_reason).toBe("length");
      const streamed = await chat.completions.stream(params).finalChatCompletion();
      expect(streamed.choices[0]?.finish_reason).toBe("length");
      const asking = { model: "m", input: "Hi", max_output_tokens: 2 };
      for (const response of [
        await responses.create(asking),
        await responses.stream(asking).finalResponse(),
      ])
        expect(response).toMatchObject({
          status: "incomplete",
          incomplete_details: { reason: "max_output_tokens" },
          output_text: "Once upon",
        });
    });

    it("is told the token counts", async () => {
      await using gateway = await saying[back]({ text: "Hello" });
      const { chat, responses } = gateway.client;
      const counts = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
      const params = { model: "m", messages: asked };
      expect((await chat.completions.create(params)).usage).toMatchObject(counts);
      const asking = { ...params, stream: true, stream_options: { include_usage: true } } as const;
      const chunks = await gather(await chat.completions.create(asking));
      expect(chunks.filter((chunk) => chunk.usage)).toMatchObject([{ choices: [], usage: counts }]);
      const unasked = await gather(await chat.completions.create({ ...params, stream: true }));
      expect(unasked.filter((chunk) => chunk.usage ?? chunk.choices.length === 0)).toEqual([]);
      const own = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
      expect((await responses.create({ model: "m", input: "Hi" })).usage).toMatchObject(own);
      const stream = responses.stream({ model: "m", input: "Hi" });
      expect((await stream.finalResponse()).usage).toMatchObject(own);
    });

    it("stops the upstream when it aborts a stream", async () => {
      const begun = {
        chat: sse(chunk(0, { role: "assistant", content: "Hel" }), hang),
        responses: sse(
          named({ type: "response.created", response: { id: "resp_1", output: [] } } as never),
          hang,
        ),
      };
      await using gateway = await openSdkGateway(back, () => begun[back]);
      const { chat, responses } = gateway.client;
      const one = await chat.completions.create({ model: "m", messages: asked, stream: true });
      one.controller.abort();
      const two = await responses.create({ model: "m", input: "Hi", stream: true });
      two.controller.abort();
      await Promise.all(gateway.upstream.requests.map((request) => request.closed));
      expect(gateway.upstream.requests.map((request) => request.abandoned())).toEqual([true, true]);
    });
  });

  it("raises an error that comes in the middle of a stream", async () => {
    await using gateway = await openSdkGateway("chat", () =>
      sse(
        chunk(0, { role: "assistant", content: "Hel" }),
        frame({ error: { message: "Out of memory.", type: "server_error", code: "oom" } }),
      ),
    );
    const { chat, responses } = gateway.client;
    const raised = { code: "oom", message: expect.stringContaining("Out of memory.") as string };
    const streams = [
      chat.completions.stream({ model: "m", messages: asked }).finalMessage(),
      responses.stream({ model: "m", input: "Hi" }).finalResponse(),
      chat.completions.create({ model: "m", messages: asked, stream: true }).then(gather),
      responses.create({ model: "m", input: "Hi", stream: true }).then(gather),
    ];
    for (const stream of await Promise.allSettled<unknown>(streams))
      expect(stream).toMatchObject({ status: "rejected", reason: raised });
  });

  it("raises the error its status stands for", async () => {
    await using gateway = await openSdkGateway("chat", () => ({
      status: 429,
      headers: { "content-type": "application/json", "retry-after": "7" },
      steps: [JSON.stringify({ error: { message: "Slow down.", code: "rate_limit_exceeded" } })],
    }));
    const refused = gateway.client.chat.completions.create({ model: "m", messages: asked });
    await expect(refused).rejects.toBeInstanceOf(RateLimitError);
    await expect(refused).rejects.toMatchObject({ code: "rate_limit_exceeded", status: 429 });
    const error = await refused.catch((thrown: unknown) => thrown);
    expect((error as APIError).headers?.get("retry-after")).toBe("7");
  });

  it("lists the models it may ask for", async () => {
    await using served = await serve({});
    const ids = (await gather(clientOf(served).models.list())).map((model) => model.id);
    expect(ids).toContain("demo/demo");
    expect(await clientOf(served).models.retrieve("demo/demo")).toMatchObject({ object: "model" });
  });
});
