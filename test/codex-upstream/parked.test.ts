import { beforeEach, describe, expect, it } from "vitest";
import { responsesToolLoop } from "../support/fake-dialects.ts";
import { answerInResponses, wantedCalls } from "../support/fake-model.ts";
import type { Body } from "../support/fake-upstream.ts";
import { question, results, schemas, toolNames, finalText } from "../sdk/gateway.ts";
import { ask, missing, openCodex, pidOf, type CodexGateway, sharedCodex } from "./gateway.ts";

const codexWith = sharedCodex();

const tools = toolNames.map((name) => ({
  type: "function",
  function: { name, description: name, parameters: schemas[name] },
}));
const pixel =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** Differs from test to test, so that no thread of another one can be gone on with. */
let asked: Body;
let tests = 0;
beforeEach(() => void (asked = { role: "user", content: `${question} (${++tests})` }));
const result = (id: string, content: unknown): Body => ({
  role: "tool",
  tool_call_id: id,
  content,
});
const told = wantedCalls.map(({ id, name }) => result(id, results[name]));

async function firstAnswer(gateway: CodexGateway): Promise<Body> {
  const { body } = await ask(gateway, { messages: [asked], tools });
  const message = body["choices"]?.[0].message as Body;
  expect(message["tool_calls"]).toHaveLength(2);
  return message;
}

/** Codex names the thread in every request: the same thread twice is a parked one. */
const threadsOf = ({ model }: CodexGateway): unknown[] =>
  model.requests.map(({ body }) => body["prompt_cache_key"]);
const isParked = (gateway: CodexGateway): boolean => {
  const [first, second] = threadsOf(gateway);
  return first === second;
};
/** The conversation as the model was told it last, without ids and instructions. */
const lastInput = ({ model }: CodexGateway): Body[] =>
  ((model.requests.at(-1)?.body["input"] ?? []) as Body[]).map((item) => {
    const { type, role, call_id, output, content } = item;
    if (type === "function_call") return { type, call_id };
    if (type === "function_call_output") return { type, call_id, output };
    return { role, text: (content as Body[]).map((part) => part["text"] as string).join("") };
  });
const text = (body: Body): unknown => body["choices"]?.[0].message.content;

describe.skipIf(missing)("a second request with the results of the calls of a first", () => {
  it("goes on in the same thread", async () => {
    const gateway = await codexWith(responsesToolLoop);
    const message = await firstAnswer(gateway);
    const { body } = await ask(gateway, { messages: [asked, message, ...told], tools });
    expect(text(body)).toBe(finalText);
    expect(isParked(gateway)).toBe(true);
    expect(lastInput(gateway)).toEqual([
      { role: "user", text: asked["content"] as string },
      ...wantedCalls.map(({ id }) => ({ type: "function_call", call_id: id })),
      ...wantedCalls.map(({ id, name }) => ({
        type: "function_call_output",
        call_id: id,
        output: results[name],
      })),
    ]);
  });

  it("may bring them in another order, and arguments written anew", async () => {
    const gateway = await codexWith(responsesToolLoop);
    const message = await firstAnswer(gateway);
    const calls = (message["tool_calls"] as Body[]).map(({ id, type, function: made }) => {
      const input: unknown = JSON.parse(made.arguments as string);
      return { id, type, function: { name: made.name, arguments: JSON.stringify(input, null, 2) } };
    });
    const messages = [asked, { ...message, tool_calls: calls }, ...told.toReversed()];
    expect(text((await ask(gateway, { messages, tools })).body)).toBe(finalText);
    expect(isParked(gateway)).toBe(true);
  });

  it("may bring only some of them; the model is told that the others are missing", async () => {
    const gateway = await codexWith(responsesToolLoop);
    const message = await firstAnswer(gateway);
    const messages = [asked, message, ...told.slice(0, 1)];
    const { body } = await ask(gateway, { messages, tools });
    expect(text(body)).toContain("There is no result");
    expect(isParked(gateway)).toBe(true);
  });

  it("may bring words of the user as well, which come after the results", async () => {
    const gateway = await codexWith(responsesToolLoop);
    const message = await firstAnswer(gateway);
    const words = { role: "user", content: "In one line." };
    const { body } = await ask(gateway, { messages: [asked, message, ...told, words], tools });
    expect(text(body)).toBe(finalText);
    expect(isParked(gateway)).toBe(true);
    expect(lastInput(gateway).at(-1)).toEqual({ role: "user", text: "In one line." });
    expect(lastInput(gateway)).toHaveLength(6);
  });

  it.each(["high", "auto"] as const)("may bring an image in detail %s", async (detail) => {
    const gateway = await codexWith(responsesToolLoop);
    const { responses } = gateway.client;
    const named = toolNames.map((name) => ({
      type: "function" as const,
      name,
      parameters: schemas[name],
      strict: false,
    }));
    const first = await responses.create({
      model: "m",
      input: asked["content"] as string,
      tools: named,
    });
    const shown = [
      { type: "input_text" as const, text: "Look:" },
      { type: "input_image" as const, image_url: pixel, detail },
    ];
    await responses.create({
      model: "m",
      input: [
        asked as never,
        ...(first.output as never[]),
        { type: "function_call_output", call_id: "call_weather", output: shown },
        { type: "function_call_output", call_id: "call_time", output: "09:41" },
      ],
      tools: named,
    });
    expect(isParked(gateway)).toBe(detail === "high");
    const output = lastInput(gateway).find((item) => item["output"] !== undefined)?.["output"];
    expect(output).toEqual(shown);
  });

  it("is refused where none of them belongs to any call", async () => {
    const gateway = await codexWith(responsesToolLoop);
    const message = await firstAnswer(gateway);
    const stray = result("call_unheard_of", "x");
    const none = await ask(gateway, { messages: [asked, stray], tools });
    expect([none.status, none.body["error"]?.code]).toEqual([400, "tool_outputs_unmatched"]);
    const old = { role: "function", name: "get_time", content: "x" };
    expect((await ask(gateway, { messages: [asked, old], tools })).status).toBe(400);
    const other = await ask(gateway, { messages: [asked, message, stray], tools });
    expect([other.status, other.body["error"]?.code]).toEqual([400, "tool_outputs_unmatched"]);
    const some = await ask(gateway, { messages: [asked, message, ...told, stray], tools });
    expect(text(some.body)).toBe(finalText);
    expect(isParked(gateway)).toBe(true);
  });

  it("answers a call whose id the model has used before with its own result", async () => {
    const gateway = await codexWith(({ body }) => {
      const outputs = (body["input"] as Body[]).flatMap(({ output }) => (output as string) ?? []);
      if (outputs.length === 3) return answerInResponses(body, { text: outputs.join() });
      const input = `{"city":"${outputs.length}"}`;
      return answerInResponses(body, {
        calls: [{ id: "call_1", name: "get_time", arguments: input }],
      });
    });
    const messages: Body[] = [asked];
    for (let at = 0; at <= 3; at++) {
      const { body } = await ask(gateway, { messages, tools });
      const message = body["choices"]?.[0].message as Body;
      const calls = (message["tool_calls"] ?? []) as Body[];
      messages.push(message, ...calls.map(({ id }) => result(id as string, `${at}`)));
    }
    expect(messages.at(-1)?.["content"]).toBe("0,1,2");
    // Nobody but us has asked the model, and all in one thread.
    expect(gateway.model.requests).toHaveLength(4);
    expect(new Set(threadsOf(gateway)).size).toBe(1);
  });

  it("goes on over a third and a fourth", async () => {
    const rounds = 3;
    const gateway = await codexWith(({ body }) => {
      const done = (body["input"] as Body[]).filter(
        (item) => item["type"] === "function_call_output",
      ).length;
      if (done === rounds) return answerInResponses(body, { text: "Done." });
      const call = { id: `call_${done}`, name: "get_time", arguments: `{"city":"${done}"}` };
      return answerInResponses(body, { text: `Round ${done}.`, calls: [call] });
    });
    const messages: Body[] = [asked];
    let said: Body = {};
    for (let at = 0; at <= rounds; at++) {
      said = (await ask(gateway, { messages, tools })).body;
      const message = said["choices"]?.[0].message as Body;
      messages.push(message);
      for (const call of (message["tool_calls"] ?? []) as Body[])
        messages.push(result(call["id"] as string, "09:41"));
    }
    expect(text(said)).toBe("Done.");
    expect(new Set(threadsOf(gateway)).size).toBe(1);
    expect(gateway.model.requests).toHaveLength(rounds + 1);
  });
});

describe.skipIf(missing)("a second request that cannot go on in the same thread", () => {
  it.each<[string, (gateway: CodexGateway, message: Body) => Body | Promise<Body>]>([
    [
      "because the process was killed",
      (gateway, message) => {
        process.kill(pidOf(gateway), "SIGKILL");
        return { messages: [asked, message, ...told], tools };
      },
    ],
    [
      "because the tools have changed",
      (_, message) => {
        const more = { type: "function", function: { name: "more", parameters: {} } };
        return { messages: [asked, message, ...told], tools: [...tools, more] };
      },
    ],
    [
      "because the history was edited",
      (_, message) => ({
        messages: [{ role: "user", content: "Something else." }, message, ...told],
        tools,
      }),
    ],
    [
      "because the model is another",
      (_, message) => ({ messages: [asked, message, ...told], tools, model: "other" }),
    ],
    [
      "because there are instructions now",
      (_, message) => ({
        messages: [{ role: "system", content: "Be brief." }, asked, message, ...told],
        tools,
      }),
    ],
  ])("%s is told to a fresh one", async (_, change) => {
    const gateway = await codexWith(responsesToolLoop);
    const message = await firstAnswer(gateway);
    const { status, body } = await ask(gateway, await change(gateway, message));
    expect(status).toBe(200);
    expect(text(body)).toBe(finalText);
    expect(isParked(gateway)).toBe(false);
  });

  it.each([
    ["is of no tool", { name: "unheard_of", arguments: "{}" }],
    ["cannot be read", { name: "get_time", arguments: "{oh" }],
  ])("starts afresh after a call that %s, which Codex would answer by itself", async (_, made) => {
    const gateway = await codexWith(({ body }, at) =>
      at === 0
        ? answerInResponses(body, { calls: [{ id: "call_1", ...made }] })
        : answerInResponses(body, { text: finalText }),
    );
    const first = await ask(gateway, { messages: [asked], tools });
    const message = first.body["choices"]?.[0].message as Body;
    const messages = [asked, message, result("call_1", "No such thing.")];
    expect(text((await ask(gateway, { messages, tools })).body)).toBe(finalText);
    expect(isParked(gateway)).toBe(false);
    expect(lastInput(gateway).at(-1)).toMatchObject({ output: "No such thing." });
  });

  it("starts afresh where nothing may be parked", async () => {
    await using gateway = await openCodex(responsesToolLoop, { park_ms: 0 });
    const message = await firstAnswer(gateway);
    const { body } = await ask(gateway, { messages: [asked, message, ...told], tools });
    expect(text(body)).toBe(finalText);
    expect(isParked(gateway)).toBe(false);
  });

  it("leaves nobody waiting when the results come twice", async () => {
    const gateway = await codexWith(responsesToolLoop);
    const message = await firstAnswer(gateway);
    const again = { messages: [asked, message, ...told], tools };
    const pid = pidOf(gateway);
    const both = await Promise.all([ask(gateway, again), ask(gateway, again)]);
    expect(both.map(({ body }) => text(body))).toEqual([finalText, finalText]);
    expect(pidOf(gateway)).toBe(pid);
  });

  it("lets go of a thread whose results never come", async () => {
    await using gateway = await openCodex(responsesToolLoop, { park_ms: 50 });
    const message = await firstAnswer(gateway);
    await new Promise((resolve) => setTimeout(resolve, 150));
    const { body } = await ask(gateway, { messages: [asked, message, ...told], tools });
    expect(text(body)).toBe(finalText);
    expect(isParked(gateway)).toBe(false);
  });
});
