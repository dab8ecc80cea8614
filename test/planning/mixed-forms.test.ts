import { describe, expect, it } from "vitest";
import { askWithin, type DoorName } from "../support/client.ts";
import { answerInChat, answerInResponses } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

const parameters = { type: "object", properties: { a: { type: "string" } } };
const flat = { type: "function", name: "f", parameters };
const nested = { type: "function", function: { name: "f", parameters } };
const schema = { type: "object", properties: {} };

const says = { chat: answerInChat, responses: answerInResponses };

/** What an upstream of the door's own dialect is sent for a request. */
async function sent(door: DoorName, more: Body): Promise<Body> {
  const calls = [{ id: "call_1", name: "f", arguments: "{}" }];
  await using upstream = await fakeUpstream(({ body }) => says[door](body, { calls }));
  await using served = await serve(onto(door, upstream.url));
  const response = await askWithin(served, door, more);
  expect(response.status).toBe(200);
  await response.text();
  return upstream.requests[0]?.body ?? {};
}

describe("what one dialect says as the other does", () => {
  it("reaches a chat upstream as chat has it", async () => {
    const body = await sent("chat", {
      tools: [flat],
      tool_choice: { type: "function", name: "f" },
    });
    expect(body).toMatchObject({
      tools: [nested],
      tool_choice: { type: "function", function: { name: "f" } },
    });
    expect((await sent("chat", { tools: [nested], tool_choice: "any" }))["tool_choice"]).toBe(
      "required",
    );
  });

  it("reaches a Responses upstream as the API has it", async () => {
    const format = { type: "json_schema", json_schema: { name: "x", schema } };
    const body = await sent("responses", {
      tools: [nested],
      tool_choice: { type: "function", function: { name: "f" } },
      text: { format },
    });
    expect(body).toMatchObject({
      tools: [flat],
      tool_choice: { type: "function", name: "f" },
      text: { format: { type: "json_schema", name: "x", schema } },
    });
  });

  const picture = "https://example.com/picture.png";
  const chatParts = [
    { type: "text", text: "Hi" },
    { type: "image_url", image_url: { url: picture } },
    { type: "file", file: { file_id: "file_1" } },
  ];
  const responsesParts = [
    { type: "input_text", text: "Hi" },
    { type: "input_image", image_url: picture },
    { type: "input_file", file_id: "file_1" },
  ];

  it("is content in the words of the upstream", async () => {
    const chat = { messages: [{ role: "user", content: chatParts }] };
    const responses = { input: [{ role: "user", content: responsesParts }] };
    const mixed = [
      await sent("chat", { messages: [{ role: "user", content: responsesParts }] }),
      await sent("chat", chat),
      await sent("responses", { input: [{ role: "user", content: chatParts }] }),
      await sent("responses", responses),
    ];
    expect(mixed).toMatchObject([chat, chat, responses, responses]);
  });

  it("is forwarded untouched where it is as it should be", async () => {
    const mine = { tools: [nested], tool_choice: { type: "function", function: { name: "f" } } };
    expect(await sent("chat", { ...mine, vendor: 1 })).toMatchObject({ ...mine, vendor: 1 });
    const theirs = { tools: [flat], tool_choice: { type: "function", name: "f" } };
    expect(await sent("responses", { ...theirs, vendor: 1 })).toMatchObject({
      ...theirs,
      vendor: 1,
    });
  });
});

it("tells of each such form in the plan", async () => {
  await using served = await serve(onto("chat", "http://127.0.0.1:1/v1"));
  const response = await fetch(`${served.url}/v1/plan`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "m",
      messages: [{ role: "function", name: "f", content: "Hi" }],
      tools: [nested, { ...flat, name: "g" }],
      tool_choice: "any",
    }),
  });
  const { decisions } = (await response.json()) as Body;
  expect(decisions.slice(0, 3)).toEqual([
    expect.objectContaining({ path: "messages[0]", action: "repaired" }),
    expect.objectContaining({ path: "tools[1]", action: "repaired" }),
    expect.objectContaining({ path: "tool_choice", action: "repaired" }),
  ]);
});
