import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import { dialectRegistry } from "../../dialects/registry.ts";
import { chat } from "../../dialects/chat/chat.ts";
import type { Dialect } from "../../dialects/dialect.ts";
import { StreamNormalizer } from "../../stream/normalize.ts";
import { fold, type Answer } from "../../stream/fold.ts";
import { runStage } from "../../stream/stage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Fields, Item, Params, Turn } from "../../turn/turn.ts";
import type { Upstream } from "../upstream.ts";
import { checkScript, split } from "./script.ts";
import { scriptedUpstream } from "./scripted.ts";

type Event = TurnEvent<UpstreamName>;

const user = (text: string): Item<UpstreamName> => ({
  type: "message",
  role: "user",
  parts: [{ type: "text", text }],
});
const call = (id: string): Item<UpstreamName> => ({
  type: "call",
  id,
  kind: "function",
  name: upstreamName("f"),
  input: "{}",
});
const result = (of: string, text: string): Item<UpstreamName> => ({
  type: "result",
  call: of,
  kind: "function",
  parts: [{ type: "text", text }],
});
const turnOf = (items: Item<UpstreamName>[], params: Params = {}): Turn<UpstreamName> => ({
  dialect: "chat",
  traits: chat.traits,
  model: "scripted",
  items,
  tools: [],
  params,
  stream: true,
  usageWanted: true,
  extra: { dialect: "chat", fields: {} },
  body: {},
});

function stage(script: unknown, dialects: readonly Dialect[] = []) {
  const clock = stillClock();
  const upstream = scriptedUpstream({
    name: "actor",
    script,
    dialects: dialectRegistry(dialects),
    newId: (prefix) => `${prefix}_new`,
    clock,
  });
  return { clock, upstream };
}

function listen(upstream: Upstream, turn: Turn<UpstreamName>, model = "scripted") {
  const events: Event[] = [];
  let ends = 0;
  const source = upstream.prepare(turn, { model, profile: upstream.profile, straight: false });
  const flow = source.open({ retry: false, requestId: "req", tenant: "" })({
    each: (event) => void events.push(event),
    flush() {},
    end: () => void ends++,
  });
  return { events, flow, ends: () => ends };
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function play(
  script: unknown,
  turn = turnOf([user("hi")]),
  dialects?: readonly Dialect[],
): Promise<Answer<UpstreamName>> {
  const { events } = listen(stage(script, dialects).upstream, turn);
  await settled();
  return fold(runStage(new StreamNormalizer<UpstreamName>(), events));
}
const textOf = (answer: Answer<UpstreamName>, choice = 0): string =>
  (answer.choices[choice]?.items ?? [])
    .flatMap((item) => (item.type === "message" ? item.parts : []))
    .map((part) => ("text" in part ? part.text : ""))
    .join("");

describe("the example in the documentation", () => {
  const guide = readFileSync(
    new URL("../../../docs/guides/scripted-models.md", import.meta.url),
    "utf8",
  );
  const script = /```yaml\n(# weather\.yaml[\s\S]*?)```/.exec(guide)?.[1] ?? "";

  it("calls twice, then answers", async () => {
    const first = await play(script);
    expect(textOf(first)).toBe("Let me look.");
    expect(first.choices[0]?.items.filter((item) => item.type === "call")).toMatchObject([
      { id: "call_0_0", name: "get_weather", input: '{"city":"Paris"}', status: "completed" },
      { id: "call_0_1", name: "get_weather", input: '{"city":"London"}', status: "completed" },
    ]);
    expect(first.choices[0]?.stop).toBe("calls");

    const { upstream, clock } = stage(script);
    const told = listen(
      upstream,
      turnOf([user("hi"), call("a"), call("b"), result("a", "x"), result("b", "y")]),
    );
    await settled();
    expect(told.events.map((event) => event.type)).toEqual(["turn-start"]);
    clock.move(200);
    await settled();
    const second = fold(runStage(new StreamNormalizer<UpstreamName>(), told.events));
    expect(textOf(second)).toBe("Paris is sunny, London is not.");
    expect(second.usage).toEqual({ input: 120, output: 9, total: 129 });
    expect(told.ends()).toBe(1);
  });

  it("fails when the user says oops", async () => {
    const { fault } = await play(script, turnOf([user("Oops, I did it")]));
    expect(fault).toMatchObject({ code: "upstream.overloaded", detail: { upstreamCode: "busy" } });
  });

  it("says so when it has run out", async () => {
    const done = turnOf([user("a"), call("a"), result("a", "x"), call("b"), result("b", "y")]);
    const { fault } = await play(script, done);
    expect(fault?.message).toContain("2 turns");
  });
});

describe("which turn is taken", () => {
  const turns = [
    { when: { result: "21" }, steps: ["by result"] },
    { when: { user: "/^w.+r$/" }, steps: ["by pattern"] },
    { when: { model: "big" }, steps: ["by model"] },
    { when: { user: "a.b", position: 1 }, steps: ["by text and place"] },
    ["first"],
    ["second"],
  ];
  const taken = async (items: Item<UpstreamName>[], model?: string): Promise<string> => {
    const { events } = listen(stage(turns).upstream, turnOf(items), model);
    await settled();
    return textOf(fold(runStage(new StreamNormalizer<UpstreamName>(), events)));
  };

  it("follows the conditions, then the place in the conversation", async () => {
    expect(await taken([user("x"), call("c"), result("c", "it is 21 degrees")])).toBe("by result");
    expect(await taken([user("weather")])).toBe("by pattern");
    expect(await taken([user("x")], "the-BIG-one")).toBe("by model");
    expect(await taken([user("x"), call("c"), result("c", ""), user("A.B")])).toBe(
      "by text and place",
    );
    expect(await taken([user("a.b")])).toBe("first");
    expect(await taken([user("axb"), call("c"), result("c", "")])).toBe("second");
  });

  it("goes by requests when told so", async () => {
    const { upstream } = stage({
      sequence: "requests",
      turns: [[{ error: { status: 500 } }], ["fine"]],
    });
    const first = listen(upstream, turnOf([user("x")]));
    const second = listen(upstream, turnOf([user("x")]));
    await settled();
    expect(first.events).toMatchObject([{ type: "turn-fail", fault: { code: "upstream.failed" } }]);
    expect(second.events).toContainEqual({ type: "text-delta", choice: 0, text: "fine" });
  });
});

describe("steps", () => {
  it("say text, reasoning and refusals in their pieces", async () => {
    const { events } = listen(
      stage([
        [
          { reasoning: "abc", chunks: 3, of: "summary" },
          { text: "Grüße", chunks: 2 },
          { refusal: ["No", "."] },
        ],
      ]).upstream,
      turnOf([]),
    );
    await settled();
    expect(events.flatMap((event) => ("text" in event ? [[event.type, event.text]] : []))).toEqual([
      ["reasoning-delta", "a"],
      ["reasoning-delta", "b"],
      ["reasoning-delta", "c"],
      ["text-delta", "Grü"],
      ["text-delta", "ße"],
      ["refusal-delta", "No"],
      ["refusal-delta", "."],
    ]);
  });

  it("call with broken arguments, free input, ids and kinds as they stand", async () => {
    const answer = await play([
      [
        { call: { name: "f", arguments: '{"a":' } },
        { call: { name: "patch", input: "*** Begin", id: "mine" } },
        {
          call: { name: "sh", kind: "local_shell", namespace: "n", arguments: { command: ["ls"] } },
        },
      ],
    ]);
    expect(answer.choices[0]?.items).toMatchObject([
      { kind: "function", input: '{"a":', id: "call_0_0" },
      { kind: "custom", input: "*** Begin", id: "mine" },
      { kind: "local_shell", namespace: "n", input: '{"command":["ls"]}' },
    ]);
  });

  it("say the same in every choice, or in one", async () => {
    const answer = await play(
      [
        [
          "all",
          { text: " one", choice: 1 },
          { stop: "length", choice: 0 },
          { call: { name: "f" }, choice: 1 },
        ],
      ],
      turnOf([user("x")], { n: 2 }),
    );
    expect([textOf(answer, 0), textOf(answer, 1)]).toEqual(["all", "all one"]);
    expect(answer.choices.map((choice) => choice.stop)).toEqual(["length", "calls"]);
  });

  it("fail in mid-stream, cut off, and hang until stopped", async () => {
    const failed = await play([["Hel", { error: { code: "oops", message: "no more" } }]]);
    expect(textOf(failed)).toBe("Hel");
    expect(failed.fault).toMatchObject({ code: "upstream.said_error", message: "no more" });
    expect((await play([["Hel", { cut: true }, "never"]])).fault?.code).toBe("upstream.cut");
    expect((await play([[{ cut: true }]])).fault?.code).toBe("upstream.empty");

    const hanging = listen(stage([["Hel", { hang: true }, "never"]]).upstream, turnOf([]));
    await settled();
    expect(hanging.events).toHaveLength(2);
    hanging.flow.stop();
    expect(hanging.ends()).toBe(0);
  });

  it("keep a status and its wait", async () => {
    const { fault } = await play([[{ error: { status: 429, retry_after: 7 } }]]);
    expect(fault).toMatchObject({ code: "upstream.rate_limited", status: 429 });
    expect(fault?.detail.retryAfter).toBe("7");
  });

  it("give raw frames to the dialect's own reader, one reader for the turn", async () => {
    const seen: unknown[] = [];
    const upstream = {
      ...chat.upstream,
      readEvents: () => ({
        frame(data: string, name: string | undefined, _: boolean, emit: (event: Event) => void) {
          seen.push([data, name]);
          emit({ type: "text-delta", choice: 0, text: String(seen.length) });
        },
        whole() {},
        done: () => seen.length === 3,
      }),
    };
    const answer = await play(
      [
        [
          { raw: { dialect: "chat", frames: ["{not json", { type: "x", a: 1 }] } },
          { raw: { dialect: "chat", frames: ["3", "4"] } },
        ],
      ],
      turnOf([]),
      [{ ...chat, upstream }],
    );
    expect(seen).toEqual([
      ["{not json", undefined],
      ['{"type":"x","a":1}', "x"],
      ["3", undefined],
    ]);
    expect(textOf(answer)).toBe("123");
    expect(answer.fault?.code).toBe("upstream.cut");
  });

  it("read a provider's raw frames as from the wire, mended where they can be", async () => {
    const choice = (delta: Fields, finish_reason: string | null = null): Fields => ({
      choices: [{ index: 0, delta, finish_reason }],
    });
    const frames = [
      choice({ tool_calls: [{ function: { name: "f", arguments: { a: 1 } } }] }),
      choice({}, "stop"),
      "[DONE]",
    ];
    const answer = await play([[{ raw: { dialect: "chat", frames } }]], turnOf([]));
    expect(answer.choices[0]).toMatchObject({
      stop: "calls",
      items: [{ name: "f", input: '{"a":1}' }],
    });
    const broken = await play([[{ raw: { dialect: "chat", frames: ["{oh no"] } }]], turnOf([]));
    expect(broken.fault?.code).toBe("upstream.malformed");
  });

  it.each([1, 2, 7, 1_000])(
    "read an event stream as it came over the wire, in pieces of %i bytes",
    async (bytes) => {
      const text = (content: string): string =>
        JSON.stringify({ choices: [{ index: 0, delta: { content } }] });
      const sse = `: hello\r\n\r\nevent: x\r\ndata: ${text("Grüße")}\r\n\r\ndata:${text(" 😀")}\n\n`;
      const end = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
      const { upstream, clock } = stage(
        [
          [
            { raw: { dialect: "chat", sse, bytes } },
            { delay: 50 },
            { raw: { dialect: "chat", sse: `data: ${JSON.stringify(end)}\n\ndata: [DO`, bytes } },
            { raw: { dialect: "chat", sse: "NE]\n\n" } },
          ],
        ],
        [chat],
      );
      const { events } = listen(upstream, turnOf([]));
      await settled();
      const answered = (): Answer<UpstreamName> =>
        fold(runStage(new StreamNormalizer<UpstreamName>(), events));
      expect([textOf(answered()), answered().fault?.code]).toEqual(["Grüße 😀", "upstream.cut"]);
      clock.move(50);
      await settled();
      expect([answered().choices[0]?.stop, answered().fault]).toEqual(["end", undefined]);
    },
  );

  it("read a body that is no stream, and a frame that the connection was cut in", async () => {
    const message = { role: "assistant", content: "Hi." };
    const body = { choices: [{ index: 0, message, finish_reason: "stop" }] };
    const whole = await play([[{ raw: { dialect: "chat", body } }]], turnOf([]), [chat]);
    expect([textOf(whole), whole.fault]).toEqual(["Hi.", undefined]);
    const open = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "Hi." } }] })}`;
    const steps = [{ raw: { dialect: "chat", sse: open } }, { cut: true }];
    const cut = await play([steps], turnOf([]), [chat]);
    expect([textOf(cut), cut.fault?.code]).toEqual(["Hi.", "upstream.cut"]);
  });

  it("refuse with any status, headers and body", async () => {
    const refused = async (error: Fields): Promise<unknown> => {
      const { fault } = await play([[{ error }]]);
      return [fault?.code, fault?.detail.retryAfter, fault?.mayRetry, fault?.message];
    };
    const page = { status: 502, headers: { "Retry-After-MS": "1500" }, body: "<html>Oh.</html>" };
    expect(await refused(page)).toEqual(["upstream.failed", "2", true, expect.any(String)]);
    const listed = { status: 400, headers: { "x-should-retry": "true" }, body: { detail: "no" } };
    expect(await refused(listed)).toEqual([
      "upstream.refused",
      undefined,
      true,
      expect.stringContaining("no"),
    ]);
    const moved = { status: 302, headers: { location: "/login" }, body: "" };
    expect(await refused(moved)).toEqual([
      "upstream.failed",
      undefined,
      true,
      expect.stringContaining("to /login"),
    ]);
  });

  it("stop at once, also in a silence, and say nothing while paused", async () => {
    const { upstream, clock } = stage([["a", { delay: 50 }, "b", "c"]]);
    const stopped = listen(upstream, turnOf([]));
    const paused = listen(upstream, turnOf([]));
    await settled();
    stopped.flow.stop();
    expect(clock.waiting()).toBe(1);
    paused.flow.pause();
    clock.move(50);
    expect(paused.events).toHaveLength(2);
    paused.flow.resume();
    await settled();
    expect(paused.events.filter((event) => event.type === "text-delta")).toHaveLength(3);
    expect(paused.ends()).toBe(1);
    expect(stopped.events).toHaveLength(2);
  });
});

describe("a script that is wrong", () => {
  const problems = (source: unknown): string[] =>
    checkScript(source).problems.map(
      ({ line, path, message }) => `${line}: ${path.join(".")} ${message}`,
    );

  it("says what is known where a key is not", () => {
    const calls = "name, arguments, input, id, kind, namespace, chunks";
    for (const step of [{ call: { name: "f", args: {} } }, { calls: [{ name: "f", args: {} }] }])
      expect(problems([[step]])[0]).toMatch(`args is not a known key; known here: ${calls}`);
    expect(problems([{ if: {}, steps: [] }])).toEqual([
      "undefined: turns.0.if is not a known key; known here: when, steps",
    ]);
    expect(problems([{ when: { said: "x" }, steps: [] }])).toEqual([
      "undefined: turns.0.when.said is not a known key; known here: user, result, model, position",
    ]);
    expect(problems([[{ text: "hi", after: 1 }]])).toEqual([
      "undefined: turns.0.steps.0.after is not a known key; leave it out",
    ]);
  });

  it("names the line and the field", () => {
    expect(problems("- - text: hi\n  - txt: hi\n- steps:\n    - call: { nam: f }\n")).toEqual([
      "2: turns.0.steps.1 is no step; a step is one of text, refusal, reasoning, call, calls, usage, delay, raw, error, stop, cut, hang",
      "4: turns.1.steps.0.call.name is missing; it must be text",
      "4: turns.1.steps.0.call.nam is not a known key; did you mean `name`?",
    ]);
    expect(problems('turns:\n  - when:\n      user: "/(/"\n    steps: []\nturn: 1\n')).toEqual([
      expect.stringMatching(/^3: turns\.0\.when\.user SyntaxError/),
      "5: turn is not a known key; did you mean `turns`?",
    ]);
  });

  it("is caught in its YAML too", () => {
    expect(problems("- [a\n- b: ]")[0]).toMatch(/^\d+: /);
  });

  it("is caught where it has no end", () => {
    const rows = ["- &a0 [x]"];
    for (let row = 1; row < 30; row++) rows.push(`- &a${row} [*a${row - 1}, *a${row - 1}]`);
    for (const text of ["- &a [*a]", rows.join("\n")])
      expect(problems(text)).toEqual([expect.stringMatching(/unfolds without end/)]);
  });

  it("has one kind of raw answer in a step", () => {
    const raw = (more: Fields): string[] => problems([[{ raw: { dialect: "chat", ...more } }]]);
    expect(raw({})[0]).toContain("has one of `frames`, `sse` and `body`");
    expect(raw({ frames: [], sse: "" })[0]).toContain("has one of");
    expect(raw({ body: {}, bytes: 3 })[0]).toContain("only `sse`");
  });

  it("is caught as a value, without lines", () => {
    expect(problems(7)).toHaveLength(1);
    expect(problems({ turns: [] })).toHaveLength(1);
    expect(problems([[{ constructor: 1 }]])[0]).toContain("is no step");
    expect(problems([[{ call: { name: "f", arguments: {}, input: "x" } }]])[0]).toContain("both");
  });

  it("stops the upstream from being made", () => {
    expect(() => stage("- - nonsense: 1")).toThrow(/upstream `actor`: line 1/);
  });
});

it("cuts text into pieces that join to it again", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 20 }), (text, most) => {
      const pieces = split(text, most);
      expect(pieces.join("")).toBe(text);
      expect(pieces.length).toBeLessThanOrEqual(most);
    }),
  );
});
