import { expect, it } from "vitest";
import { ask, readAnswer, readDoors } from "../support/client.ts";
import { chunk } from "../support/fake-model.ts";
import { fakeUpstream, sse } from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { onto, serve } from "../support/serve.ts";

it.each(readDoors)("an answer without end has a truthful end at the %s door", async (door) => {
  const word = chunk(0, { content: "w".repeat(1000) });
  await using upstream = await fakeUpstream(() => sse(...Array.from({ length: 400 }, () => word)));
  await using served = await serve({
    ...onto("chat", upstream.url),
    server: { answer_limit: 200_000 },
  });
  const answer = await readAnswer(door, await ask(served, door, { stream: true }));
  expect(answer.error).toMatchObject({ code: "upstream.too_long" });
  expect(answer.text.length).toBeLessThanOrEqual(200_000);
  expect(served.turns()[0]).toMatchObject({ outcome: "failed", fault: "upstream.too_long" });
  const whole = await readAnswer(door, await ask(served, door, { stream: false }));
  expect(whole.error).toMatchObject({ code: "upstream.too_long" });
});

const words = "w".repeat(1000);

/** What an answer may be made of beside text; each piece is a thousand characters or a new part. */
const pieces: Readonly<Record<string, (at: number) => string>> = {
  refusals: () => chunk(0, { refusal: words }),
  reasoning: () => chunk(0, { reasoning_content: words }),
  annotations: (at) =>
    chunk(0, {
      content: "w",
      annotations: [
        { type: "url_citation", url_citation: { url: `https://box/${at}`, title: words } },
      ],
    }),
  "short calls": (at) =>
    chunk(0, {
      tool_calls: [{ index: at, id: `c${at}`, function: { name: "f", arguments: "{}" } }],
    }),
  "long names of calls": (at) =>
    chunk(0, {
      tool_calls: [{ index: at, id: `c${at}`, function: { name: words, arguments: "{}" } }],
    }),
  "fields that only its provider has": (at) => chunk(0, { audio: { id: at, data: words } }),
  "details of reasoning": (at) =>
    chunk(0, {
      reasoning_details: [{ type: "reasoning.encrypted", data: words, id: `r${at}`, index: at }],
    }),
};

it.each(Object.keys(pieces))("an answer of %s has an end at every door", async (name) => {
  const count = name === "short calls" ? 4000 : 600;
  const all = Array.from({ length: count }, (_, at) => pieces[name]?.(at) ?? "");
  await using upstream = await fakeUpstream(() => sse(...all));
  await using served = await serve({
    ...onto("chat", upstream.url),
    server: { answer_limit: 200_000 },
  });
  for (const door of readDoors) {
    await readAnswer(door, await ask(served, door, { stream: true }));
    await until(() => served.turns().length === readDoors.indexOf(door) + 1);
    expect([door, served.turns().at(-1)?.fault]).toEqual([door, "upstream.too_long"]);
  }
});

it("the input of what a provider runs has an end too", async () => {
  const frame = (type: string, more: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [] };
  const use = { type: "server_tool_use", id: "t", name: "web_search", input: {} };
  const piece = { type: "input_json_delta", partial_json: words };
  const steps = [
    frame("message_start", {
      message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } },
    }),
    frame("content_block_start", { index: 0, content_block: use }),
    ...Array.from({ length: 1000 }, () => frame("content_block_delta", { index: 0, delta: piece })),
  ];
  await using upstream = await fakeUpstream(() => sse(...steps));
  await using served = await serve({
    ...onto("messages", upstream.url),
    server: { answer_limit: 200_000 },
  });
  await (await ask(served, "responses", { stream: true })).text();
  await until(() => served.turns().length === 1);
  expect(served.turns()[0]?.fault).toBe("upstream.too_long");
});
