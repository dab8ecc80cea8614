import { describe, expect, it } from "vitest";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat, answerInResponses, chunk } from "../support/fake-model.ts";
import { cut, done, frame, json, sse, type Body, type Model } from "../support/fake-upstream.ts";
import { askMessages, look } from "./messages.ts";

// Each row is what clients of another gateway saw, by the thread that tells of it.

const tools = { tools: [look] };
const deltas =
  (finish: string, ...said: readonly unknown[]): Model =>
  () =>
    sse(...said.map((delta) => chunk(0, delta)), chunk(0, {}, finish), done);
const entry = (index: number, input: string, id = `call_${index}`): Body => ({
  tool_calls: [{ index, id, type: "function", function: { name: "look", arguments: input } }],
});
const chatBody =
  (message: Body, finish: string, usage: Body = {}): Model =>
  () =>
    json({
      id: "c",
      object: "chat.completion",
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, ...usage },
    });
const call = (id: string, input = "{}"): Body => ({
  id,
  type: "function",
  function: { name: "look", arguments: input },
});

describe("an answer of another dialect at the Messages door", () => {
  it("every `input` is {}: the fragment that opened the call was thrown away (litellm#25321)", async () => {
    const says = deltas("tool_calls", entry(0, '{"at":'), {
      tool_calls: [{ index: 0, function: { arguments: '"x"}' } }],
    });
    const { answer } = await askMessages(tools, { says, stream: true });
    expect(answer["content"]).toMatchObject([{ type: "tool_use", input: { at: "x" } }]);
  });

  it("`end_turn` with calls, so that nobody runs them (litellm#34692)", async () => {
    const says = chatBody({ content: null, tool_calls: [call("a")] }, "stop");
    expect((await askMessages(tools, { says })).answer).toMatchObject({ stop_reason: "tool_use" });
    const streams = deltas("stop", entry(0, "{}"));
    const { answer } = await askMessages(tools, { says: streams, stream: true });
    expect(answer).toMatchObject({ stop_reason: "tool_use" });
  });

  it("an empty text block first (maximhq/bifrost#3638)", async () => {
    const says = deltas("tool_calls", { role: "assistant", content: "" }, entry(0, "{}"));
    const { answer } = await askMessages(tools, { says, stream: true });
    expect(answer["content"]).toMatchObject([{ type: "tool_use" }]);
  });

  it("a Responses answer becomes an empty message (litellm#25848)", async () => {
    const says: Model = ({ body }) => answerInResponses(body, { text: "Yes." });
    const whole = await askMessages({}, { to: "responses", says });
    const streamed = await askMessages({}, { to: "responses", says, stream: true });
    expect(whole.answer["content"]).toEqual([{ type: "text", text: "Yes." }]);
    expect(streamed.answer["content"]).toEqual(whole.answer["content"]);
  });

  it("cached tokens are lost, or counted twice (litellm#35127, #36091)", async () => {
    const says = chatBody({ content: "Yes." }, "stop", {
      prompt_tokens_details: { cached_tokens: 8 },
    });
    expect((await askMessages({}, { says })).answer["usage"]).toMatchObject({
      input_tokens: 2,
      cache_read_input_tokens: 8,
      output_tokens: 5,
    });
  });

  it("text before thinking: the same index twice (ollama/ollama#17101)", async () => {
    const says = deltas(
      "stop",
      { content: "So. " },
      { reasoning_content: "Hm." },
      { content: "Yes." },
    );
    const { answer } = await askMessages({}, { says, stream: true });
    expect((answer["content"] as Body[]).map(({ type }) => type as string)).toEqual([
      "text",
      "thinking",
      "text",
    ]);
  });

  it("streams at the same time share state: no block start (decolua/9router#2248)", async () => {
    const says = deltas("tool_calls", { content: "I look." }, entry(0, "{}"));
    const all = await Promise.all(
      [1, 2, 3, 4].map(() => askMessages(tools, { says, stream: true })),
    );
    for (const { answer } of all)
      expect(answer["content"]).toMatchObject([{ text: "I look." }, { type: "tool_use" }]);
  });

  it("the second call has the index of the first, for 0 is falsy (Portkey-AI/gateway#1275)", async () => {
    const says = deltas("tool_calls", entry(0, '{"at":"a"}'), entry(1, '{"at":"b"}'));
    const { answer } = await askMessages(tools, { says, stream: true });
    expect(answer["content"]).toMatchObject([{ input: { at: "a" } }, { input: { at: "b" } }]);
  });

  it("an answer that is not streamed keeps the first call only (andrewyng/aisuite#386)", async () => {
    const says = chatBody({ content: null, tool_calls: [call("a"), call("b")] }, "tool_calls");
    const { answer } = await askMessages(tools, { says });
    expect(answer["content"]).toMatchObject([{ id: "a" }, { id: "b" }]);
  });

  it("an error in the stream is swallowed (Portkey-AI/gateway#741, #949)", async () => {
    const says: Model = () =>
      sse(chunk(0, { content: "So" }), frame({ error: { message: "boom" } }));
    const { events } = await askMessages({}, { says, stream: true });
    expect(events.at(-1)).toMatchObject({ type: "error", error: { type: "api_error" } });
    expect(events.map(({ type }) => type as string)).not.toContain("message_stop");
  });

  it("an error comes without `event: error` (mlflow/mlflow#25897)", async () => {
    const says: Model = () => sse(chunk(0, { content: "So" }), cut);
    const { text } = await askMessages({}, { says, stream: true });
    expect(text).toMatch(/event: error\ndata: \{"type":"error"/);
  });

  it("a thought has no signature, which breaks the agent SDK (musistudio/claude-code-router#866)", async () => {
    const says = deltas("stop", { reasoning_content: "Hm." }, { content: "Yes." });
    const streamed = await askMessages({}, { says, stream: true });
    const whole = await askMessages(
      {},
      { says: chatBody({ reasoning_content: "Hm.", content: "Yes." }, "stop") },
    );
    for (const { answer } of [streamed, whole])
      expect(answer["content"]).toMatchObject([
        { type: "thinking", thinking: "Hm.", signature: expect.stringMatching(/./) as string },
        { type: "text" },
      ]);
  });

  it("half a call as text ends the turn (musistudio/claude-code-router#183)", async () => {
    const says: Model = () => sse(chunk(0, entry(0, '{"at":"x')), cut);
    const { events } = await askMessages(tools, { says, stream: true });
    expect(events.at(-1)).toMatchObject({ type: "error" });
    const stops = events.filter(({ type }) => type === "content_block_stop");
    expect(stops).toEqual([]);
  });

  it("an empty stream is taken for an empty answer (musistudio/claude-code-router#212)", async () => {
    const { status, answer } = await askMessages({}, { says: () => sse(done), stream: true });
    expect(status).toBeGreaterThanOrEqual(500);
    expect(answer).toMatchObject({ type: "error" });
  });

  it("an answer that is not streamed has the shape of Chat (techysy/10router#18)", async () => {
    const { answer } = await askMessages({}, { says: chatBody({ content: "Yes." }, "stop") });
    expect(answer).toMatchObject({ type: "message", role: "assistant", stop_reason: "end_turn" });
    expect(answer).not.toHaveProperty("choices");
  });

  it("`stop_sequences` are dropped, and auto mode is unavailable (techysy/10router#18)", async () => {
    const says: Model = ({ body }) => answerInResponses(body, { text: "<block>no</block>" });
    const body = { stop_sequences: ["</block>"] };
    const { answer } = await askMessages(body, { to: "responses", says });
    expect(answer).toMatchObject({
      content: [{ text: "<block>no" }],
      stop_reason: "stop_sequence",
      stop_sequence: "</block>",
    });
  });

  it("an error's type is not one of the API's (ray-project/ray#65486)", async () => {
    const error = { object: "error", message: "no such model", type: "NotFoundError", code: 404 };
    const { status, answer } = await askMessages({}, { says: () => json({ error }, 404) });
    expect([status, answer["error"]?.type]).toEqual([404, "not_found_error"]);
  });

  it("a stream to an upstream that refuses hangs (langwatch/langwatch#6184)", async () => {
    const says: Model = () => json({ error: { message: "no" } }, 401);
    const { status, answer, headers } = await askMessages({}, { says, stream: true });
    expect([status, answer["type"]]).toEqual([401, "error"]);
    expect(headers.get("x-should-retry")).toBe("false");
  });

  it("the role is refused in other words than a client falls back on (JustVugg/colibri#725)", async () => {
    const message = "System message must be at the beginning.";
    const { status, answer } = await askMessages(
      {},
      { says: () => json({ error: { message } }, 400) },
    );
    expect([status, answer["error"]?.message]).toEqual([
      400,
      "capability_rejected: mid_conv_system",
    ]);
    expect(answer["error"]?.details.reason).toContain(message);
  });

  it("a long context is told as something else, so that nobody compacts (litellm#17904)", async () => {
    const message = "This model's maximum context length is 8192 tokens, but you sent 9000 tokens.";
    const { answer } = await askMessages({}, { says: () => json({ error: { message } }, 400) });
    expect(answer["error"]?.message).toBe("prompt is too long: 9000 tokens > 8192 maximum");
  });

  it("thinking is on when nobody asked for it (ollama/ollama#15287)", async () => {
    const says: Model = ({ body }) => answerInChat(body, { text: "Yes." });
    const { sent } = await askMessages({}, { says });
    expect(Object.keys(sent).filter((key) => /reason|think/.test(key))).toEqual([]);
    const toMessages: Model = ({ body }) => answerInMessages(body, { text: "Yes." });
    const other = await askMessages({}, { to: "messages", says: toMessages });
    expect(other.sent).not.toHaveProperty("thinking");
  });
});
