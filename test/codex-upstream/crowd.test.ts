import { describe, expect, it } from "vitest";
import { answerInResponses, type FakeCall } from "../support/fake-model.ts";
import { json, type Body, type Model } from "../support/fake-upstream.ts";
import {
  ask,
  childEvents,
  missing,
  openCodex,
  sharedCodex,
  standIn,
  type Asked,
  type CodexGateway,
} from "./gateway.ts";

const codexWith = sharedCodex();

const eight: readonly FakeCall[] = Array.from({ length: 8 }, (_, at) => ({
  id: `call_${at}`,
  name: "note",
  // As the model wrote it: neither the number nor the spaces survive a parser.
  arguments: `{"at": ${at}, "big": 12345678901234567890}`,
}));
const note = {
  name: "note",
  description: "Notes.",
  parameters: { type: "object", properties: { at: { type: "number" } } },
};
const saidOf = (calls: readonly FakeCall[]) =>
  calls.map(({ id, name, arguments: input }) => [id, name, input]);

describe.skipIf(missing)("a burst of eight calls from the real codex app-server", () => {
  const burst: Model = ({ body }) => answerInResponses(body, { text: "Noting.", calls: eight });

  it.each([false, true])(
    "reaches a chat client whole and in order (stream: %s)",
    async (stream) => {
      const gateway = await codexWith(burst);
      const { completions } = gateway.client.chat;
      const asked = {
        model: "m",
        messages: [{ role: "user" as const, content: "Note." }],
        tools: [{ type: "function" as const, function: note }],
      };
      const whole = stream
        ? await completions.stream(asked).finalChatCompletion()
        : await completions.create(asked);
      const [choice] = whole.choices;
      expect(choice?.finish_reason).toBe("tool_calls");
      expect(choice?.message.content).toBe("Noting.");
      const calls = (choice?.message.tool_calls ?? []) as unknown as Body[];
      expect(calls.map(({ id, function: made }) => [id, made.name, made.arguments])).toEqual(
        saidOf(eight),
      );
    },
  );

  it.each([false, true])(
    "reaches a Responses client whole and in order (stream: %s)",
    async (stream) => {
      const gateway = await codexWith(burst);
      const asked = {
        model: "m",
        input: "Note.",
        tools: [{ type: "function" as const, strict: false, ...note }],
      };
      const { output } = stream
        ? await gateway.client.responses.stream(asked).finalResponse()
        : await gateway.client.responses.create(asked);
      const calls = (output as unknown as Body[]).filter(
        (item) => item["type"] === "function_call",
      );
      expect(calls.map(({ call_id: id, name, arguments: input }) => [id, name, input])).toEqual(
        saidOf(eight),
      );
    },
  );
});

/** Calls a tool with the marker of the conversation, and says the marker of the result. */
const echo: Model = ({ body }) => {
  const text = JSON.stringify(body["input"]);
  const [marker = "none"] = /marker-\d+/.exec(text) ?? [];
  const [result] = /result-\d+/.exec(text) ?? [];
  if (result !== undefined) return answerInResponses(body, { text: `${marker} ${result}` });
  const call = { id: `call_${marker}`, name: "note", arguments: JSON.stringify({ marker }) };
  return answerInResponses(body, { calls: [call] });
};

async function converse(gateway: CodexGateway, at: number): Promise<string> {
  const tools = [{ type: "function", function: note }];
  const messages: Body[] = [{ role: "user", content: `marker-${at}` }];
  const first = await ask(gateway, { messages, tools, stream: false });
  if (first.status !== 200) return first.text;
  const message = first.body["choices"]?.[0].message as Body;
  const [call] = message["tool_calls"] as Body[];
  const result = { role: "tool", tool_call_id: call?.["id"] as string, content: `result-${at}` };
  const second = await ask(gateway, { messages: [...messages, message, result], tools });
  return second.status === 200
    ? `${call?.["function"].arguments} ${second.body["choices"]?.[0].message.content}`
    : `${second.status}`;
}

describe.skipIf(missing)("many at once at the real codex app-server", () => {
  it("are twenty conversations over two processes, each with its own words", async () => {
    await using gateway = await openCodex(echo, { processes: 2 });
    const said = await Promise.all(Array.from({ length: 20 }, (_, at) => converse(gateway, at)));
    expect(said).toEqual(
      said.map((_, at) => `{"marker":"marker-${at}"} marker-${at} result-${at}`),
    );
    expect(childEvents(gateway, "started")).toBe(2);
    expect(childEvents(gateway, "unknown-thread")).toBe(0);
  });
});

describe("many at once at an app-server", () => {
  const standIns = async (more: Readonly<Record<string, unknown>> = {}): Promise<CodexGateway> =>
    openCodex(() => json({}), { command: await standIn(), processes: 2, ...more });
  const askMany = (gateway: CodexGateway): Promise<Asked[]> =>
    Promise.all(
      Array.from({ length: 600 }, (_, at) =>
        ask(gateway, { model: "echo", messages: [{ role: "user", content: `marker-${at}` }] }),
      ),
    );
  const contentOf = ({ body }: Asked): string => body["choices"]?.[0].message.content as string;

  it("are six hundred: served, or told to come back, and none of them lost", async () => {
    await using gateway = await standIns({ seats: 16, queue: 150 });
    const all = await askMany(gateway);
    const served = all.filter(({ status }) => status === 200);
    const refused = all.filter(({ status }) => status === 503);
    expect(served.length + refused.length).toBe(600);
    // Two processes of sixteen seats, and the line before them.
    expect(served.length).toBeGreaterThanOrEqual(182);
    const outcomes = all.map((asked, at) =>
      asked.status === 200
        ? contentOf(asked).startsWith(`marker-${at} `)
        : asked.body["error"]?.code === "upstream.overloaded",
    );
    expect(outcomes).not.toContain(false);
    // Each was asked in a thread of its own, and of those that were refused none.
    const threads = served.map((asked) => contentOf(asked).split(" ").slice(1));
    const most = new Map<string, number>();
    for (const [process = "", thread = ""] of threads)
      most.set(process, Math.max(most.get(process) ?? 0, Number(thread.split("_")[1])));
    expect(new Set(threads.map(String)).size).toBe(served.length);
    expect([...most.values()].reduce((sum, count) => sum + count)).toBe(served.length);
    expect((await ask(gateway)).status).toBe(200);
  });

  it("are six hundred that all may wait, and all are served", async () => {
    await using gateway = await standIns();
    const all = await askMany(gateway);
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 200));
    expect(all.map((asked) => contentOf(asked).split(" ")[0])).toEqual(
      all.map((_, at) => `marker-${at}`),
    );
  });
});
