import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Move, type Moves, openBack } from "../../test/agent/backs.ts";
import { foreign, named, sections } from "../../test/agent/library.ts";
import { stillClock } from "../../test/support/still-clock.ts";
import type { Fields } from "../turn/turn.ts";
import { agent, type Agent } from "./agent.ts";
import type { AgentEvent, LogLine, RunResult } from "./events.ts";
import { runToEnd, type RunInput, streamAgent } from "./run.ts";
import { section } from "./catalog.ts";
import { Session } from "./session.ts";
import { tool, type Tool } from "./tool.ts";

const say = (text: string): Moves => [{ say: text }];
const use = (name: string): Move => ({ blurt: name, with: { text: "x" } });

type Playing = Partial<RunInput> & { readonly script: readonly Moves[] };

/** Runs an agent of some tools on a script. */
async function play<O>(of: Agent<Fields, O> | readonly Tool[], { script, ...options }: Playing) {
  const plain = {
    name: "plain",
    sections: [section("a", { title: "A", body: "Do.", tools: of as readonly Tool[] })],
  };
  const made = ("catalog" in of ? of : agent(plain)) as Agent<Fields, O>;
  await using back = await openBack("scripted", "append", script);
  const session = options.session ?? new Session();
  const clock = options.clock ?? stillClock();
  const running = streamAgent(
    made,
    {},
    {
      adapter: back.adapter,
      strategy: "append",
      input: "Go.",
      ...options,
      session,
      clock,
    },
  );
  const events: AgentEvent<O>[] = [];
  for await (const event of running) events.push(event);
  const last = events.at(-1);
  return {
    events,
    session,
    asked: back.asked(),
    result: last?.type === "run-end" ? last.result : undefined,
    fault: last?.type === "run-fail" ? last.fault : undefined,
  };
}

const outputsIn = (session: Session): readonly string[] =>
  session.items.flatMap((item) =>
    item.type === "result" ? item.parts.map((part) => (part.type === "text" ? part.text : "")) : [],
  );

const waiting = (begun: () => void = () => {}): Tool => ({
  ...named("wait"),
  run: () => {
    begun();
    return new Promise(() => {});
  },
});

describe("a tool", () => {
  it("that throws is an error result, and the run goes on", async () => {
    const broken: Tool = {
      ...named("break"),
      run: () => {
        throw new Error("no disk");
      },
    };
    const { session, result } = await play([broken], { script: [[use("break")], say("Ok.")] });
    expect(outputsIn(session)).toEqual(["Error: no disk"]);
    expect(result?.output).toBe("Ok.");
  });

  it("that takes too long is given up, and told so", async () => {
    const clock = stillClock();
    let signal: AbortSignal | undefined;
    const slow: Tool = {
      ...named("wait"),
      timeoutMs: 500,
      run: (_: unknown, context) => {
        ({ signal } = context);
        queueMicrotask(() => clock.move(500));
        return new Promise(() => {});
      },
    };
    const { session } = await play([slow], { clock, script: [[use("wait")], say("Ok.")] });
    expect(outputsIn(session)).toEqual(["Error: the tool took longer than 500 ms"]);
    expect(signal?.aborted).toBe(true);
  });

  it("runs beside the others of its answer", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const first: Tool = { ...named("first"), run: () => promise };
    const second: Tool = {
      ...named("second"),
      run: () => {
        resolve("by the second");
        return "done";
      },
    };
    const { session } = await play([first, second], {
      script: [[use("first"), use("second")], say("Ok.")],
    });
    expect(outputsIn(session)).toEqual(["by the second", "done"]);
  });

  it("may return anything that JSON can say", async () => {
    const tools: Tool[] = [
      { ...named("list"), run: () => [1, { a: null }] },
      { ...named("nothing"), run: () => undefined },
      {
        ...named("cycle"),
        run: () => {
          const ring: unknown[] = [];
          ring.push(ring);
          return ring;
        },
      },
    ];
    const { session } = await play(tools, {
      script: [tools.map(({ name }) => use(name)), say("Ok.")],
    });
    const [list, nothing, cycle] = outputsIn(session);
    expect([list, nothing]).toEqual(['[1,{"a":null}]', "Done."]);
    expect(cycle).toMatch(/^Error: .*circular/i);
  });

  it("gets what its schema makes of the arguments", async () => {
    let got: unknown;
    const counted = tool({
      name: "count",
      description: "",
      params: z.object({ text: z.string().toUpperCase(), limit: z.int().default(10) }),
      run: (input) => void (got = input),
    });
    await play([counted], { script: [[use("count")], say("Ok.")] });
    expect(got).toEqual({ text: "X", limit: 10 });
  });

  it("that the caller runs is answered in the next run", async () => {
    const { result, session } = await play([foreign("ask")], { script: [[use("ask")]] });
    const [call] = result?.pending ?? [];
    const next = await play([foreign("ask")], {
      session,
      results: { [call?.id ?? ""]: { yes: true } },
      script: [say("Thanks.")],
    });
    expect(outputsIn(next.session)).toEqual(['{"yes":true}']);
    expect(next.result?.output).toBe("Thanks.");
  });
});

describe("a run", () => {
  it("ends at its deadline, and leaves no call without a result", async () => {
    const clock = stillClock();
    const slow = waiting(() => queueMicrotask(() => clock.move(1000)));
    const { fault, session } = await play([slow], {
      clock,
      limits: { deadline: 1000 },
      script: [[use("wait")]],
    });
    expect(fault?.code).toBe("agent.deadline");
    expect(outputsIn(session)).toEqual(["Error: the run ended before the tool had finished."]);
  });

  it("ends when it is cancelled, while the model speaks and while tools run", async () => {
    for (const moves of [[{ fail: "hang" }], [use("wait")]] as const) {
      const abort = new AbortController();
      setImmediate(() => abort.abort());
      const { fault } = await play([waiting()], { signal: abort.signal, script: [moves] });
      expect(fault?.code).toBe("agent.cancelled");
    }
  });

  it("stops the model and the tools when nobody listens any more", async () => {
    let signal: AbortSignal | undefined;
    const slow: Tool = {
      ...named("wait"),
      run: (_: unknown, context) => {
        ({ signal } = context);
        return new Promise(() => {});
      },
    };
    const plain = agent({
      name: "p",
      sections: [section("a", { title: "A", body: "", tools: [slow] })],
    });
    await using back = await openBack("scripted", "append", [[use("wait")]]);
    const options = { adapter: back.adapter, clock: stillClock(), input: "Go." };
    for await (const { type } of streamAgent(plain, {}, options)) if (type === "tool-start") break;
    await new Promise(setImmediate);
    expect(signal?.aborted ?? true).toBe(true);
  });

  it("ends when its tokens are used up, before the model is asked again", async () => {
    const { fault, asked } = await play([named("note")], {
      limits: { tokens: 1 },
      script: [[use("note")], say("Ok.")],
    });
    expect(fault?.code).toBe("agent.budget");
    expect(asked).toHaveLength(1);
  });

  it("counts the tokens of all questions", async () => {
    const { result, events } = await play([named("note")], { script: [[use("note")], say("Ok.")] });
    const counted = events.flatMap((event) =>
      event.type === "round-end" ? [event.usage?.total ?? 0] : [],
    );
    expect(counted).toHaveLength(2);
    expect(result?.usage.total).toBe((counted[0] ?? 0) + (counted[1] ?? 0));
  });

  it("is refused where its parameters are not what the agent asks for", async () => {
    const strict = agent({ name: "s", params: z.object({ topic: z.string() }), sections });
    const { fault } = await play(strict as unknown as Agent, {
      script: [say("Ok.")],
    });
    expect(fault?.message).toContain("topic");
  });

  it("answers what an earlier run left open, so that the model can be asked at all", async () => {
    const { session } = await play([foreign("ask")], { script: [[use("ask")]] });
    await play([foreign("ask")], { session, script: [say("Ok.")] });
    expect(outputsIn(session)[0]).toContain("there is no result");
  });

  it("says its prompt as the user where nobody says anything else", async () => {
    const { asked } = await play([], { input: undefined, script: [say("Ok.")] });
    expect(asked[0]?.body["items"]).toEqual([
      { type: "message", role: "user", parts: [{ type: "text", text: "## 1. A\n\nDo." }] },
    ]);
  });

  it("begins its conversation anew when the caller has closed a section of it", async () => {
    const librarian = agent({ name: "l", sections });
    const { session } = await play(librarian, { script: [[{ read: "archive" }], say("Ok.")] });
    const close = {
      type: "visibility-set",
      path: "archive",
      visibility: "summary",
      by: "caller",
      timestamp: 0,
    } as const;
    session.dispatch(close);
    const { asked } = await play(librarian, { session, script: [say("Ok.")] });
    expect(asked[0]?.tools).toEqual(["note", "read_section"]);
  });

  it("keeps the strategy of its conversation under auto", async () => {
    const librarian = agent({ name: "l", sections });
    const { session } = await play(librarian, { strategy: "wrap", script: [say("Ok.")] });
    const { result } = await play(librarian, { session, strategy: "auto", script: [say("Ok.")] });
    expect(result?.strategy).toBe("wrap");
    const fresh = await play(librarian, { strategy: "auto", script: [say("Ok.")] });
    expect(fresh.result?.strategy).toBe("append");
  });
});

it("a conversation can go on under another strategy, and without another model's reasoning", async () => {
  const librarian = agent({ name: "l", sections });
  await using first = await openBack("scripted", "wrap", [
    [{ think: "Hm." }, { read: "archive" }],
    [{ use: "search" }],
    say("Ok."),
  ]);
  const session = new Session();
  const clock = stillClock();
  const adapter = { ...first.adapter, name: "other/model" };
  await runToEnd(librarian, {}, { adapter, session, clock, strategy: "wrap", input: "One." });
  const { asked } = await play(librarian, { session, script: [say("Ok.")] });
  expect(asked[0]?.tools).toEqual(["note", "search", "cite", "read_section"]);
  expect(asked[0]?.text).toContain('"name":"search","input":"{\\"text\\":\\"x\\"}"');
  expect(asked[0]?.text).not.toMatch(/call_tool|Hm\./);
});

describe("an output", () => {
  const typed = agent({
    name: "typed",
    output: z.object({ n: z.number() }),
    sections: [section("a", { title: "A", body: "Count." })],
  });
  const list = agent({
    name: "list",
    output: z.array(z.string()),
    sections: [section("a", { title: "A", body: "" })],
  });

  it("is what its schema makes of the answer", async () => {
    const { result, asked } = await play(typed, { script: [say('{"n":3}')] });
    expect(result?.output).toEqual({ n: 3 });
    expect(asked).toHaveLength(1);
  });

  it("may be no object, though providers want one", async () => {
    const { result } = await play(list, { script: [say('{"value":["a"]}')] });
    expect(result?.output).toEqual(["a"]);
  });

  it("of the wrong form is asked for again, with what is wrong", async () => {
    const { result, asked } = await play(typed, {
      script: [say("three"), say('{"n":"3"}'), say('{"n":3}')],
    });
    expect(result?.output).toEqual({ n: 3 });
    expect(asked[1]?.text).toContain("It is not JSON.");
    expect(asked[2]?.text).toContain("n: ");
  });

  it("that never has the form fails the run", async () => {
    const { fault } = await play(typed, { script: [say("1"), say("2"), say("3")] });
    expect(fault?.code).toBe("agent.output");
  });
});

it("tells logs and counters what the specification names", async () => {
  const librarian = agent({ name: "l", sections });
  const lines: LogLine[] = [];
  const counts: Record<string, number> = {};
  const observer = {
    log: (line: LogLine) => void lines.push(line),
    count: (name: string, by: number) => void (counts[name] = (counts[name] ?? 0) + by),
  };
  const script = [[{ read: "archive" }], [{ read: "nothing" }], say("Ok.")];
  await play(librarian, { observer, tools: [named("cite")], script });
  await play(librarian, { observer, strategy: "restart", script });
  expect(lines).toEqual([
    {
      level: "warning",
      message: "Skipping duplicate tool during injection",
      fields: { tool_name: "cite" },
    },
    {
      level: "info",
      message: "Injected tools from section expansion",
      fields: { section_key: "archive", tool_count: 1, tool_names: ["search"] },
    },
    {
      level: "info",
      message: "Restarting with expanded sections",
      fields: {
        section_keys: ["archive"],
        reason: "The strategy `restart` was asked for",
      },
    },
  ]);
  expect(counts).toEqual({
    "wink.tools.injected": 1,
    "wink.disclosure.dynamic": 1,
    "wink.disclosure.restarts": 1,
    "patchbay.disclosure.opened": 2,
    "patchbay.disclosure.unknown": 2,
    "patchbay.disclosure.hidden_rounds": 4,
    "patchbay.disclosure.skipped": 1,
  });
});

it("has the type of its output", async () => {
  const typed = agent({ name: "t", output: z.object({ n: z.number() }), sections: [] });
  const result = { output: { n: 1 } } satisfies Partial<
    RunResult<NonNullable<(typeof typed)["types"]>["output"]>
  >;
  expect(result.output.n).toBe(1);
});
