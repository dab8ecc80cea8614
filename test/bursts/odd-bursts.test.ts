import { describe, expect, it } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { askWithin, doors, readAnswer, type DoorName } from "../support/client.ts";
import { chunk } from "../support/fake-model.ts";
import { done, fakeUpstream, sse, type Body, type Step } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { askStill } from "../support/still-gateway.ts";

const begun = (index: number, name: string, input = ""): string =>
  chunk(0, {
    tool_calls: [
      { index, id: `call_${index}`, type: "function", function: { name, arguments: input } },
    ],
  });
const more = (index: number, input: string): string =>
  chunk(0, { tool_calls: [{ index, function: { arguments: input } }] });

const parameters = { type: "object", properties: { a: { type: "string" } } };
const look = {
  chat: { type: "function", function: { name: "look", parameters } },
  responses: { type: "function", name: "look", parameters },
} as const;

/** What a client makes of what a chat upstream says, and what was counted. */
async function read(
  door: DoorName,
  rules: ConfigInput["tools"],
  says: (asked: Body) => readonly Step[],
  more: Body = {},
) {
  await using upstream = await fakeUpstream(({ body }) =>
    sse(chunk(0, { role: "assistant", content: null }), ...says(body), done),
  );
  await using served = await serve({ ...onto("chat", upstream.url), tools: rules });
  const asked = { tools: [look[door]], ...more };
  const answer = await readAnswer(door, await askWithin(served, door, asked));
  const calls = served.turns()[0]?.calls;
  return {
    ...answer,
    calls: answer.calls.map(({ name, input }) => `${name} ${input}`),
    counted: calls,
  };
}

/** Three calls, the second the same as the first, whose fragments take turns. */
const inputs = ['{"a":"1"}', '{"a":"1"}', '{"a":"22"}'];
const mixed: readonly string[] = [
  ...inputs.map((_, at) => begun(at, "look")),
  ...Array.from({ length: 12 }, (_, at) =>
    inputs.map((input, index) => more(index, input.charAt(at))),
  ).flat(),
  chunk(0, {}, "tool_calls"),
];

describe.each(doors)("calls whose fragments take turns, at the %s door", (door) => {
  it.each<[string, ConfigInput["tools"], readonly number[], boolean]>([
    ["no repeats", { block_dedup: true }, [0, 2], false],
    ["blocks", { output: "obsidian-xml" }, [0, 1, 2], false],
    ["a stop after the first", { stop_after_mode: "first" }, [0], true],
    ["a stop after the burst", { stop_after: true }, [0, 1, 2], false],
    ["a cap", { block_max: 2 }, [0, 1], true],
    ["a cap on what is no repeat", { block_max: 2, block_dedup: true }, [0, 2], false],
  ])("are kept apart under %s", async (_, rules, given, truncated) => {
    for (const stream of [true, false]) {
      const { calls, counted } = await read(door, rules, () => mixed, { stream });
      expect(calls).toEqual(given.map((at) => `look ${inputs[at]}`));
      expect(counted).toMatchObject({ given: given.length, truncated });
    }
  });
});

describe("tools of other kinds, on a chat upstream", () => {
  const tools = [
    { type: "custom", name: "note" },
    { type: "apply_patch" },
    { type: "namespace", name: "files", description: "Files.", tools: [look.responses] },
    look.responses,
  ];
  const operation = '{"type":"update_file","path":"a","diff":"@@\\n-a\\n+b <x>"}';
  /** Each tool twice, in other words the second time. */
  const says = ({ tools: declared }: Body): string[] => {
    const said: Readonly<Record<string, string>> = {
      note: '{"input":"free <text> & more"}',
      apply_patch: `{"operation":${operation}}`,
    };
    const calls = (declared as { function: { name: string } }[]).flatMap(
      ({ function: { name } }) => {
        const input = said[name] ?? '{"a":"1"}';
        return [
          [name, input],
          [name, input.replace(":", ": ")],
        ] as const;
      },
    );
    const frames = calls.map(([name, input], at) => begun(at, name, input));
    return [...frames, chunk(0, {}, "tool_calls")];
  };

  it("are shown as blocks in their own words, and each once where repeats are left out", async () => {
    for (const stream of [true, false]) {
      const rules = { output: "obsidian-xml", block_dedup: true } as const;
      const { text, calls, counted } = await read("responses", rules, says, { stream, tools });
      expect(counted).toMatchObject({ given: 4, repeated: 4 });
      expect(calls).toEqual(["note free <text> & more", 'look {"a":"1"}', 'look {"a":"1"}']);
      expect(text.match(/<name>.*<\/name>/g)).toEqual(
        ["note", "apply_patch", "files__look", "look"].map((name) => `<name>${name}</name>`),
      );
      expect(text).toContain("<args>free &lt;text&gt; &amp; more</args>");
      expect(text).toContain("+b &lt;x&gt;</diff>");
    }
  });
});

describe("calls in text that no tool may be called by", () => {
  const block = "<use_tool>\n<name>look</name>\n<a>1</a>\n</use_tool>";
  it.each(doors)("stay text, at the %s door", async (door) => {
    const says = (): string[] => [chunk(0, { content: `So: ${block}` }), chunk(0, {}, "stop")];
    for (const rules of [{ text_calls: true }, { output: "obsidian-xml" } as const]) {
      const none = await read(door, rules, says, { stream: true, tool_choice: "none" });
      expect([none.text, none.calls]).toEqual([`So: ${block}`, []]);
      const auto = await read(door, rules, says, { stream: true });
      expect(auto.calls).toEqual(['look {"a":"1"}']);
    }
  });
});

describe("choices that do not do the same", () => {
  const script = [
    [
      { text: "Only words.", choice: 0 },
      { call: { name: "look", arguments: '{"a":"1"}' }, choice: 1 },
      ...["1", "2", "1", "3"].map((a) => ({
        call: { name: "look", arguments: { a } },
        choice: 2,
      })),
      { text: "Tail.", choice: 2 },
    ],
  ];
  const asked = {
    path: "/v1/chat/completions",
    body: { model: "m", n: 3, messages: [{ role: "user", content: "Go." }], tools: [look.chat] },
  };

  it.each<[string, ConfigInput["tools"], readonly number[], boolean]>([
    ["no rule", {}, [0, 1, 4], false],
    ["a cap", { block_max: 2 }, [0, 1, 2], true],
    ["a stop after the first", { stop_after_mode: "first" }, [0, 1, 1], true],
    ["no repeats", { block_dedup: true }, [0, 1, 3], false],
  ])("are each held to %s by themselves", async (_, tools, given, truncated) => {
    const upstreams = { actor: { dialect: "scripted", script } } as const;
    const told = await askStill({ upstreams, models: { "*": "actor/scripted" }, tools }, asked);
    const { choices } = JSON.parse(told.text) as {
      choices: { message: Body; finish_reason: string }[];
    };
    expect(choices.map(({ message }) => ((message["tool_calls"] ?? []) as Body[]).length)).toEqual(
      given,
    );
    expect(choices.map(({ finish_reason: finish }) => finish)).toEqual([
      "stop",
      "tool_calls",
      "tool_calls",
    ]);
    expect(choices[0]?.message["content"]).toBe("Only words.");
    expect(told.turn.calls).toMatchObject({ given: given.reduce((a, b) => a + b), truncated });
  });

  it.each([true, false])(
    "stop the upstream once some have ended and the others were stopped, stream=%s",
    async (stream) => {
      const called = { index: 0, id: "a", type: "function" } as const;
      const call = { ...called, function: { name: "look", arguments: '{"a":"1"}' } };
      await using upstream = await fakeUpstream(({ closed }) =>
        sse(
          chunk(1, { role: "assistant", content: null, tool_calls: [call] }),
          chunk(0, { role: "assistant", content: "Only words." }),
          chunk(0, {}, "length"),
          closed,
        ),
      );
      const tools = { stop_after: true, stop_after_grace_ms: 20 };
      await using served = await serve({ ...onto("chat", upstream.url), tools });
      const answer = await askWithin(served, "chat", { n: 2, stream, tools: [look.chat] });
      const text = await answer.text();
      expect(text.match(/"finish_reason":"\w+"/g)?.toSorted()).toEqual([
        '"finish_reason":"length"',
        '"finish_reason":"tool_calls"',
      ]);
      await upstream.requests[0]?.closed;
      expect(upstream.requests[0]?.abandoned()).toBe(true);
      expect(served.turns()[0]).toMatchObject({
        outcome: "incomplete",
        calls: { given: 1, truncated: true, stopped: true },
      });
    },
  );
});

describe("a client that reads slowly", () => {
  const calls = ["1", "2", "3"].map((a) => ({ call: { name: "look", arguments: { a } } }));
  const script = [calls.flatMap((call) => [{ delay: 10 }, call])];
  const config = (tools: ConfigInput["tools"]): ConfigInput => ({
    upstreams: { actor: { dialect: "scripted", script } },
    models: { "*": "actor/scripted" },
    tools,
  });

  it.each([
    ["chat", "/v1/chat/completions", { messages: [{ role: "user", content: "Go." }] }] as const,
    ["responses", "/v1/responses", { input: "Go." }] as const,
  ])(
    "is given the whole burst: the grace is the model's, at the %s door",
    async (door, path, said) => {
      const body = { model: "m", stream: true, tools: [look[door]], ...said };
      const told = await askStill(config({ stop_after: true, stop_after_grace_ms: 100 }), {
        path,
        body,
        readsIn: 1000,
      });
      expect(told.turn.calls).toMatchObject({ given: 3, truncated: false, stopped: false });
    },
  );
});

describe("what nobody asked for", () => {
  const made = (index: number, a: string, choice = 0): string =>
    chunk(choice, {
      tool_calls: [
        {
          index,
          id: `call_${choice}_${index}`,
          type: "function",
          function: { name: "look", arguments: JSON.stringify({ a }) },
        },
      ],
    });

  it.each(doors.flatMap((door) => [true, false].map((stream) => ({ door, stream }))))(
    "is held to the rules also where no tool was declared, at the $door door, stream=$stream",
    async ({ door, stream }) => {
      await using upstream = await fakeUpstream(() =>
        sse(made(0, "1"), made(1, "1"), made(2, "2"), made(3, "3"), chunk(0, {}, "tool_calls")),
      );
      const tools = { block_max: 2, block_dedup: true };
      await using served = await serve({ ...onto("chat", upstream.url), tools });
      const answer = await readAnswer(door, await askWithin(served, door, { stream }));
      expect(answer.calls.map(({ input }) => input)).toEqual(['{"a":"1"}', '{"a":"2"}']);
      expect(served.turns()[0]?.calls).toMatchObject({ given: 2, withheld: 1, repeated: 1 });
    },
  );

  it.each([true, false])(
    "is no second choice at a door that has room for one, stream=%s",
    async (stream) => {
      await using upstream = await fakeUpstream(() =>
        sse(made(0, "1", 1), made(0, "2", 0), chunk(1, {}, "tool_calls"), chunk(0, {}, "length")),
      );
      await using served = await serve(onto("chat", upstream.url));
      const asked = { stream, tools: [look.responses] };
      const answer = await readAnswer("responses", await askWithin(served, "responses", asked));
      expect(answer).toMatchObject({ calls: [{ input: '{"a":"1"}' }], stop: "completed" });
      expect(served.turns()[0]).toMatchObject({ outcome: "completed", calls: { given: 1 } });
    },
  );
});
