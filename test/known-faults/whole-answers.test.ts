import { describe, expect, it } from "vitest";
import { askWithin, readDoors, readAnswer } from "../support/client.ts";
import { chunk } from "../support/fake-model.ts";
import { done, json, sse, type Answer, type Body } from "../support/fake-upstream.ts";
import { askBothWays, fakeBackedGateway } from "./gateway.ts";

const tools = [{ type: "function", name: "lookup", parameters: { type: "object" } }];
const call = (more: Body = {}): Body => ({
  id: "call_1",
  type: "function",
  function: { name: "lookup", arguments: '{"q":"x"}' },
  ...more,
});

/** An answer in one piece, whether or not a stream was asked for. */
const whole = (message: Body, finish = "tool_calls"): Answer =>
  json({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
  });

describe.each(readDoors)("an answer in one piece, at the %s door", (door) => {
  it.each([
    ["arguments are an object", { function: { name: "lookup", arguments: { q: "x" } } }],
    ["id is missing", { id: undefined }],
    ["id is null", { id: null }],
    ["id is empty", { id: "" }],
    ["type is missing", { type: undefined }],
  ])("keeps a call whose %s", async (_, flaw) => {
    await using here = await fakeBackedGateway(() =>
      whole({ content: null, tool_calls: [call(flaw)] }),
    );
    for (const stream of [true, false]) {
      const { calls, text } = await readAnswer(door, await askWithin(here, door, { stream }));
      expect(calls).toEqual([
        {
          id: expect.stringMatching(/./) as string,
          kind: "function",
          name: "lookup",
          input: '{"q":"x"}',
          complete: true,
        },
      ]);
      expect(text).toBe("");
    }
  });

  it("gives each of several calls without ids one of its own", async () => {
    const bare = call({ id: undefined });
    await using here = await fakeBackedGateway(() =>
      whole({ content: null, tool_calls: [bare, bare] }),
    );
    for (const stream of [true, false]) {
      const { calls } = await readAnswer(door, await askWithin(here, door, { stream }));
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    }
  });

  const words = "The account is closed.";
  it.each([
    { error: { message: words, type: "account_error" } },
    { error: words },
    { code: 1113, message: words },
    { detail: words },
    { base_resp: { status_code: 1008, status_msg: words }, choices: null },
  ])("that holds an error is that error, though its status is 200: %j", async (body) => {
    await using here = await fakeBackedGateway(() => json(body));
    for (const stream of [true, false]) {
      const { status, error } = await readAnswer(door, await askWithin(here, door, { stream }));
      expect(status).toBe(502);
      expect(error?.["message"]).toContain(words);
    }
  });
});

describe("the items of an answer", () => {
  const deltas = [
    { role: "assistant", reasoning_content: "Hm." },
    { content: "Let me see." },
    { tool_calls: [{ index: 0, ...call() }] },
  ];
  const message = { reasoning_content: "Hm.", content: "Let me see.", tool_calls: [call()] };

  it.each([
    ["a stream", sse(...deltas.map((delta) => chunk(0, delta)), chunk(0, {}, "tool_calls"), done)],
    ["one piece", whole(message)],
  ])("come in one order out of %s: reasoning, text, calls", async (_, answer) => {
    await using here = await fakeBackedGateway(() => answer);
    for (const { output } of await askBothWays(here, { tools }))
      expect(output).toMatchObject([
        { type: "reasoning" },
        { type: "message" },
        { type: "function_call" },
      ]);
  });

  it("hold no empty message beside a call", async () => {
    await using here = await fakeBackedGateway(() => whole({ content: "", tool_calls: [call()] }));
    for (const { output } of await askBothWays(here, { tools }))
      expect(output).toEqual([expect.objectContaining({ type: "function_call" })]);
  });

  it("all have an id, and calls a status", async () => {
    await using here = await fakeBackedGateway(() => whole(message));
    for (const { output } of await askBothWays(here, { tools })) {
      const ids = (output as Body[]).map(({ id }) => id as string);
      expect(ids).toEqual([/^rs_/, /^msg_/, /^fc_/].map((form) => expect.stringMatching(form)));
      expect((output as Body[]).at(-1)).toMatchObject({ call_id: "call_1", status: "completed" });
    }
  });
});

it("keeps a picture that stands beside the text", async () => {
  const url = "data:image/webp;base64,UklGRg==";
  const image = { type: "image_url", image_url: { url } };
  await using here = await fakeBackedGateway(() =>
    whole({ content: "Look:", images: [image] }, "stop"),
  );
  for (const { output } of await askBothWays(here, {}))
    expect(output).toMatchObject([
      { type: "message", content: [{ text: "Look:" }] },
      { type: "image_generation_call", status: "completed", result: "UklGRg==" },
    ]);
  for (const stream of [true, false]) {
    const text = await (await askWithin(here, "chat", { stream })).text();
    expect(text).toContain(`"images":[${JSON.stringify(image)}]`);
  }
});
