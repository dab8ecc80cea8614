import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foreign, named, sections } from "../../test/agent/library.ts";
import { clientName } from "../turn/names.ts";
import type { Call, Item } from "../turn/turn.ts";
import { catalogOf } from "./catalog.ts";
import {
  LOADERS,
  authorCall,
  type Disclosure,
  lower,
  lowerItems,
  resolveCall,
  violationOf,
} from "./lower.ts";
import { type ItemAdded, Session, type SessionEvent } from "./session.ts";
import { strategies, type Strategy } from "./strategy.ts";

const catalog = catalogOf(sections);
const started: SessionEvent = {
  type: "thread-started",
  adapter: "a",
  strategy: "s",
  role: "system",
  timestamp: 0,
};
const openedAt = (path: string): SessionEvent => ({
  type: "visibility-set",
  path,
  visibility: "full",
  by: "model",
  timestamp: 0,
});

const disclosure = (
  strategy: Strategy,
  opened: readonly string[] = [],
  more: Partial<Disclosure> = {},
): Disclosure => ({
  catalog,
  scope: { params: {}, session: new Session([started, ...opened.map(openedAt)]) },
  strategy,
  names: LOADERS,
  base: [],
  direct: new Set(),
  loads: true,
  maxDescription: Infinity,
  ...more,
});

const namesOf = (given: Disclosure): readonly string[] =>
  lower(given).tools.map(({ name }) => String(name));

describe("the tools that are sent", () => {
  it.each([
    ["eager", ["note", "search", "cite", "to_csv"]],
    ["native", ["note", "tool_search"]],
    ["wrap", ["note", "read_section", "call_tool"]],
    ["append", ["note", "read_section"]],
    ["restart", ["note", "read_section"]],
  ] as const)("under %s begin as %j", (strategy, tools) => {
    expect(namesOf(disclosure(strategy))).toEqual(tools);
  });

  it("grow at the end of the list under append, in the order of openings", () => {
    expect(namesOf(disclosure("append", ["archive.export", "archive"]))).toEqual([
      "note",
      "read_section",
      "search",
      "cite",
      "to_csv",
    ]);
  });

  it("do not change with openings under wrap and native", () => {
    for (const strategy of ["wrap", "native"] as const)
      expect(lower(disclosure(strategy, ["archive", "style"]))).toEqual(
        lower(disclosure(strategy)),
      );
  });

  it("hold what a request forces", () => {
    expect(namesOf(disclosure("wrap", [], { direct: new Set(["to_csv"]) }))).toContain("to_csv");
  });

  it("never hold what is not for this scope", () => {
    for (const strategy of strategies)
      expect(
        JSON.stringify(lower(disclosure(strategy, [], { direct: new Set(["ban"]) }))),
      ).not.toContain("ban");
  });

  it("are left out where another has their name, and that is told", () => {
    const { tools, skipped } = lower(
      disclosure("append", ["archive"], { base: [named("search")] }),
    );
    expect(tools.filter(({ name }) => name === "search")).toHaveLength(1);
    expect(skipped.map(({ name }) => name)).toEqual(["search"]);
  });

  it("are without a loader once that is withdrawn, and with all that is open", () => {
    expect(namesOf(disclosure("append", ["archive"], { loads: false }))).toEqual([
      "note",
      "search",
      "cite",
    ]);
    expect(namesOf(disclosure("native", ["archive"], { loads: false }))).toEqual([
      "note",
      "search",
      "cite",
    ]);
    expect(namesOf(disclosure("wrap", ["archive"], { loads: false }))).toEqual([
      "note",
      "call_tool",
    ]);
  });

  it("name every section that can be read, with its tools, where the loader is described", () => {
    const [, reader] = lower(disclosure("wrap")).tools;
    expect(reader).toMatchObject({
      description: expect.stringContaining(
        "- archive (2): search, cite\n- archive.export (1): to_csv\n- style",
      ) as string,
      schema: { properties: { key: { enum: ["archive", "archive.export", "style"] } } },
    });
  });

  it("name them in the prompt where a description has no room", () => {
    const { prompt, tools } = lower(disclosure("wrap", [], { maxDescription: 60 }));
    expect(prompt).toMatch(/^Sections, with the tools/);
    expect(tools[1]).toMatchObject({
      description: "Read the full content of a summarized section.",
    });
  });
});

const call = (name: string, input: string): Call => ({
  type: "call",
  id: `call_${name}`,
  kind: "function",
  name: clientName(name),
  input,
});
const result = (of: Call, text: string): Item => ({
  type: "result",
  call: of.id,
  kind: "function",
  parts: [{ type: "text", text }],
});
const added = (item: Item, more: Partial<ItemAdded> = {}): ItemAdded => ({
  type: "item-added",
  item,
  ...more,
});

describe("a conversation", () => {
  const reading = call("read_section", '{"key":"archive"}');
  const search = call("search", '{"text":"bees"}');
  const log = [
    added(reading),
    added(result(reading, "Cite."), { loaded: ["search", "cite"] }),
    added(search, { wrapped: '{"name":"search", "arguments":{"text":"bees"}}' }),
  ];
  const told = (strategy: Strategy) => {
    const given = disclosure(strategy, ["archive"]);
    return lowerItems(given, lower(given).declared, log);
  };

  it("is told as it was under append", () => {
    expect(told("append")).toEqual(log.map(({ item }) => item));
  });

  it("has calls as the model wrote them under wrap", () => {
    expect(told("wrap")[2]).toMatchObject({
      name: "call_tool",
      input: '{"name":"search", "arguments":{"text":"bees"}}',
    });
  });

  it("has searches that bring namespaces under native, and the text behind them", () => {
    const [asked, brought, text, called] = told("native");
    expect(asked).toMatchObject({ kind: "tool_search", name: "tool_search" });
    expect(brought).toMatchObject({
      kind: "tool_search",
      declares: {
        tools: [
          {
            type: "namespace",
            name: "archive",
            tools: [{ name: "search", extra: { fields: { defer_loading: true } } }, {}],
          },
        ],
      },
    });
    expect(text).toMatchObject({ role: "developer", parts: [{ text: "Cite." }] });
    expect(called).toMatchObject({ name: "search", namespace: "archive" });
  });

  it.each(strategies)("is the author's again on the way back from %s", (strategy) => {
    const calls = told(strategy).filter((item) => item.type === "call");
    const back = calls.map((item) => authorCall(item, { names: LOADERS }).call);
    expect(back.map(({ name, input }) => [name, input])).toEqual(
      [reading, search].map(({ name, input }) => [name, input]),
    );
  });
});

describe("a call", () => {
  it("of a tool of a closed section says what it would open", () => {
    expect(resolveCall(call("to_csv", "{}"), disclosure("wrap"))).toMatchObject({
      type: "tool",
      reading: {
        opens: ["archive", "archive.export"],
        result: { expandedTools: [{ name: "search" }, { name: "cite" }, { name: "to_csv" }] },
      },
    });
  });

  it("of a tool that is not for this scope is of none", () => {
    expect(resolveCall(call("ban", "{}"), disclosure("wrap"))).toEqual({
      type: "unknown",
      message: "There is no tool `ban`.",
    });
  });

  it("of a tool that nobody here runs is found all the same", () => {
    const outside = foreign("elsewhere");
    expect(
      resolveCall(call("elsewhere", "{}"), disclosure("wrap", [], { base: [outside] })),
    ).toEqual({
      type: "tool",
      tool: outside,
    });
  });

  it("is held against the schema of its tool", () => {
    expect(violationOf(named("a"), '{"text":"x"}')).toBeUndefined();
    expect(violationOf(named("a"), '{"text":1}')).toContain("#/text");
    expect(violationOf(named("a"), "{")).toBe("The arguments are not JSON.");
  });
});

it("offers what the log says is open, whatever the order of openings and wherever it is saved", () => {
  const paths = [...catalog.byPath.keys()];
  const step = fc.record({
    path: fc.constantFrom(...paths),
    close: fc.boolean(),
    save: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.boolean(), (steps, isAdmin) => {
      let session = new Session([started]);
      for (const { path, close, save } of steps) {
        const visibility = close ? "summary" : "full";
        session.dispatch({ type: "visibility-set", path, visibility, by: "caller", timestamp: 0 });
        if (save) session = Session.from(JSON.parse(JSON.stringify(session)));
      }
      // What the log says, by the rule and without the code that follows it.
      const last = (path: string): string | undefined =>
        steps.findLast((one) => one.path === path)?.close === true
          ? "summary"
          : steps.some((one) => one.path === path)
            ? "full"
            : undefined;
      const isOpen = (path: string): boolean =>
        (last(path) ??
          (catalog.byPath.get(path)?.section.summary === undefined ? "full" : "summary")) ===
        "full";
      const isReached = (path: string): boolean =>
        path.split(".").every((_, at, keys) => isOpen(keys.slice(0, at + 1).join("."))) &&
        (isAdmin || !path.startsWith("admin"));
      const expected = [...catalog.owners]
        .filter(([, { path }]) => isReached(path))
        .map(([name]) => name);
      const scope = { params: { isAdmin }, session };
      const sent = lower(disclosure("append", [], { scope })).declared;
      expect([...sent].toSorted()).toEqual(expected.toSorted());
    }),
  );
});
