import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { answerInChat, answerInResponses } from "../support/fake-model.ts";
import { fakeUpstream, hang, type Body } from "../support/fake-upstream.ts";
import { clientOf } from "../sdk/gateway.ts";
import { onto, serve } from "../support/serve.ts";

const text = "<block>yes</block> and so on";
const asked = {
  model: "m",
  max_tokens: 64,
  stop_sequences: ["</block>"],
  messages: [{ role: "user" as const, content: "May it run?" }],
};

/** Upstreams that have no parameter for it. */
const backends = {
  responses: {
    dialect: "responses" as const,
    profile: "generic-responses",
    say: answerInResponses,
  },
  chat: { dialect: "chat" as const, profile: "minimax", say: answerInChat },
};

describe.each(["responses", "chat"] as const)("stop_sequences on a %s upstream without", (name) => {
  const { dialect, profile, say } = backends[name];

  it("end a whole answer, whose count is the upstream's", async () => {
    await using upstream = await fakeUpstream(({ body }) => say(body, { text }));
    await using served = await serve(onto(dialect, upstream.url, { profile }));
    const client = new Anthropic({ baseURL: served.url, apiKey: "unused", maxRetries: 0 });
    const answer = await client.messages.create(asked);
    expect(answer).toMatchObject({
      content: [{ type: "text", text: "<block>yes" }],
      stop_reason: "stop_sequence",
      stop_sequence: "</block>",
      usage: { input_tokens: 11, output_tokens: 7 },
    });
    expect(upstream.requests[0]?.body).not.toHaveProperty("stop");
  });

  it("end a stream and let go of the upstream, with an estimate for a count", async () => {
    await using upstream = await fakeUpstream(({ body }) => {
      const { steps, ...answer } = say(body, { text });
      const frames = [...(steps as string[])];
      const last = frames.findIndex((frame) => frame.includes('"k> a"'));
      return { ...answer, steps: [...frames.slice(0, last + 1), hang] };
    });
    await using served = await serve(onto(dialect, upstream.url, { profile }));
    const client = new Anthropic({ baseURL: served.url, apiKey: "unused", maxRetries: 0 });
    const answer = await client.messages.stream(asked).finalMessage();
    expect(answer).toMatchObject({
      content: [{ type: "text", text: "<block>yes" }],
      stop_reason: "stop_sequence",
      stop_sequence: "</block>",
    });
    expect(answer.usage.input_tokens).toBeGreaterThan(0);
    // The upstream has said what follows the sequence too.
    expect(answer.usage.output_tokens).toBe(5);
    await upstream.requests[0]?.closed;
    expect(upstream.requests[0]?.abandoned()).toBe(true);
    const plan = (await (await fetch(`${served.url}/v1/plans/${answer.id}`)).json()) as Body;
    expect(JSON.stringify(plan)).toContain("an estimate: the upstream was stopped");
  });
});

it("ends a chat client's answer at its `stop` too", async () => {
  await using upstream = await fakeUpstream(({ body }) => answerInResponses(body, { text }));
  await using served = await serve(onto("responses", upstream.url));
  const { choices } = await clientOf(served).chat.completions.create({
    model: "m",
    stop: "</block>",
    messages: [{ role: "user", content: "May it run?" }],
  });
  expect(choices[0]).toMatchObject({
    finish_reason: "stop",
    message: { content: "<block>yes" },
  });
});
