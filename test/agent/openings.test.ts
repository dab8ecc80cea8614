import { describe, expect, it } from "vitest";
import {
  agent,
  Fault,
  readSection,
  run,
  section,
  Session,
  setVisibilityOverride,
  stream,
  type AgentEvent,
  type LogLine,
  type RunOptions,
  type SetVisibilityOverride,
} from "../../src/agent.ts";
import { foreign, sections } from "./library.ts";
import { scriptModel, toolNames, type ScriptedAnswer } from "./script-model.ts";

const librarian = agent({ name: "librarian", sections });

type Playing = Partial<RunOptions> & { readonly fixed?: boolean; readonly deferred?: boolean };

/** Runs the librarian on a script; returns requests, events, log lines and counts. */
async function play(script: readonly ScriptedAnswer[], { fixed, deferred, ...more }: Playing = {}) {
  const { adapter, requests } = scriptModel(script, {
    supportsDynamicTools: fixed !== true,
    deferred: deferred === true,
  });
  const session = more.session ?? new Session();
  const events: AgentEvent[] = [];
  const lines: LogLine[] = [];
  const counts: Record<string, number> = {};
  const observer = {
    log: (line: LogLine) => void lines.push(line),
    count: (name: string, by: number) => void (counts[name] = (counts[name] ?? 0) + by),
  };
  const options = { adapter, input: "Go.", observer, ...more, session };
  for await (const event of stream(librarian, {}, options)) events.push(event);
  return { requests, session, events, lines, counts };
}

const callSearch: ScriptedAnswer = [["search", { text: "x" }]];

describe("a call of a closed tool", () => {
  it.each([
    ["append", {}, { added: ["search", "cite"], described: [] }],
    ["native", { deferred: true }, { added: ["search", "cite"], described: [] }],
    ["wrap", {}, { added: [], described: ["search", "cite"] }],
  ] as const)("adds all tools that its section opens, under %s", async (strategy, can, told) => {
    const played = await play([callSearch, "Ok."], { strategy, ...can });
    const { requests, events, session, lines, counts } = played;
    const opened = ["search", "cite"];
    const injected = {
      type: "tools-injected",
      sectionKey: "archive",
      toolNames: opened,
      callId: "call_1_0",
    };
    expect(events).toContainEqual(expect.objectContaining(injected));
    expect(session.events).toContainEqual(expect.objectContaining(injected));
    expect(lines).toEqual([
      {
        level: "info",
        message: "Injected tools from section expansion",
        fields: { section_key: "archive", tool_count: 2, tool_names: opened },
      },
    ]);
    expect(counts["wink.tools.injected"]).toBe(2);
    expect(counts["wink.disclosure.dynamic"]).toBe(1);
    // The model can call them: they are declared, or the result has their schemas.
    const [first, second] = requests.map(toolNames);
    expect(second?.slice(first?.length)).toEqual(told.added);
    const described = JSON.stringify(requests[1]?.items).matchAll(/- `(\w+)`: Does/g);
    expect([...described].map(([, name]) => name)).toEqual(told.described);
  });

  it("tells the schemas also where the caller runs the tool", async () => {
    const shop = agent({
      name: "shop",
      sections: [
        section("stock", {
          title: "Stock",
          summary: "What there is.",
          body: "Count.",
          tools: [foreign("count"), foreign("order")],
        }),
      ],
    });
    const { adapter, requests } = scriptModel([[["count", { text: "x" }]], "Ok."]);
    const session = new Session();
    const options = { adapter, session, strategy: "wrap" } as const;
    const { pending } = await run(shop, {}, { ...options, input: "Go." });
    const resumed = Session.from(JSON.parse(JSON.stringify(session)));
    const results = { [pending[0]?.id ?? ""]: "7" };
    await run(shop, {}, { ...options, session: resumed, results });
    expect(JSON.stringify(requests[1]?.items)).toContain("- `order`: Does order.");
  });

  it("restarts with them where tools are fixed, and is stored as a call", async () => {
    const played = await play([callSearch, "Ok."], { fixed: true });
    const { requests, session, events, counts } = played;
    expect(toolNames(requests[1] ?? { tools: [] })).toEqual([
      "note",
      "search",
      "cite",
      "read_section",
    ]);
    expect(events).toContainEqual({ type: "section-opened", path: "archive", by: "call" });
    expect(session.events).toContainEqual(
      expect.objectContaining({ type: "visibility-set", path: "archive", by: "call" }),
    );
    expect(counts["wink.disclosure.restarts"]).toBe(1);
    expect(counts["wink.tools.injected"]).toBeUndefined();
  });
});

describe("a restart", () => {
  it("says why: the adapter, or the caller's choice", async () => {
    const reads: readonly ScriptedAnswer[] = [[["read_section", { key: "archive" }]], "Ok."];
    for (const [options, reason] of [
      [{ fixed: true }, "Adapter does not support dynamic tools"],
      [{ strategy: "restart" }, "The strategy `restart` was asked for"],
    ] as const) {
      const { events } = await play(reads, options);
      expect(events).toContainEqual({
        type: "visibility-expansion-required",
        requestedOverrides: { archive: "full" },
        sectionKeys: ["archive"],
        reason,
      });
    }
  });
});

const expandedNames = ({ expandedTools }: { expandedTools: readonly { name: string }[] }) =>
  expandedTools.map(({ name }) => name);

describe("the result of read_section", () => {
  it("is on its event, with the tools that became callable", async () => {
    const read: ScriptedAnswer = [["read_section", { key: "archive" }]];
    for (const options of [{}, { fixed: true }, { strategy: "wrap" }] as const) {
      const { events } = await play([read, read, "Ok."], options);
      const results = events.flatMap((event) => (event.type === "section-read" ? [event] : []));
      expect(results).toMatchObject([
        { path: "archive", callId: "call_1_0" },
        { path: "archive", callId: "call_2_0" },
      ]);
      expect(results.map(({ result }) => expandedNames(result))).toEqual([["search", "cite"], []]);
      for (const { result } of results) expect(result.content).toContain("Cite every claim.");
    }
  });

  it("is returned by readSection, which opens the section for the next run", async () => {
    const session = new Session();
    const opened = await readSection(librarian, {}, { key: "archive.export", session });
    expect(opened).toMatchObject({
      success: true,
      message: "Content of section 'archive.export':",
    });
    expect(opened.value?.content).toContain("Only on request.");
    expect(expandedNames(opened.value ?? { expandedTools: [] })).toEqual([
      "search",
      "cite",
      "to_csv",
    ]);
    const again = await readSection(librarian, {}, { key: "archive.export", session });
    expect(again).toMatchObject({
      success: true,
      message: "Section is already expanded.",
      value: { expandedTools: [] },
    });
    const { requests } = await play(["Ok."], { session });
    expect(toolNames(requests[0] ?? { tools: [] })).toEqual([
      "note",
      "search",
      "cite",
      "to_csv",
      "read_section",
    ]);
  });

  it("is no success for a section that is not there, or not for this scope", async () => {
    const session = new Session();
    expect(await readSection(librarian, {}, { key: "archve", session })).toEqual({
      success: false,
      message: "Unknown section key: 'archve'. Did you mean \"archive\"?",
      value: undefined,
    });
    const admin = { key: "admin", session };
    expect((await readSection(librarian, {}, admin)).success).toBe(false);
    expect((await readSection(librarian, { isAdmin: true }, admin)).success).toBe(true);
    expect([...session.overrides.keys()]).toEqual(["admin"]);
  });
});

describe("SetVisibilityOverride", () => {
  it("needs a path and a visibility, and is saved with the session", async () => {
    const override: SetVisibilityOverride = { path: "archive", visibility: "full" };
    const session = new Session();
    session.dispatch(override, setVisibilityOverride(librarian, "task", "summary"));
    const resumed = Session.from(JSON.parse(JSON.stringify(session)));
    expect(resumed.events).toEqual(session.events);
    expect(resumed.events).toEqual([
      { type: "visibility-set", path: "archive", visibility: "full", by: "caller" },
      { type: "visibility-set", path: "task", visibility: "summary", by: "caller" },
    ]);
    const { requests } = await play(["Ok."], { session: resumed });
    expect(toolNames(requests[0] ?? { tools: [] })).toEqual(["search", "cite", "read_section"]);
  });

  it("of an unknown path is an error that names the nearest, at once or in the next run", async () => {
    const message =
      "The agent `librarian` has no section `archve`, whose visibility was to be set. Did you mean `archive`?";
    expect(() => setVisibilityOverride(librarian, "archve", "full")).toThrow(
      new Fault("agent.invalid", message),
    );
    expect(() => setVisibilityOverride(librarian, "export", "full")).toThrow(
      "Did you mean `archive.export`?",
    );
    const session = new Session();
    session.dispatch({ path: "archve", visibility: "full" });
    const { adapter, requests } = scriptModel(["Ok."]);
    await expect(run(librarian, {}, { adapter, session, input: "Go." })).rejects.toThrow(message);
    expect(requests).toEqual([]);
    expect(session.items).toEqual([]);
  });

  it("of a section that is gone does not stop a conversation that knew it", async () => {
    const session = new Session();
    session.dispatch({ path: "archive.export", visibility: "full" });
    await play(["Ok."], { session });
    const smaller = agent({ name: "smaller", sections: sections.slice(0, 1) });
    const { adapter } = scriptModel(["Ok."]);
    expect((await run(smaller, {}, { adapter, session, input: "Go." })).text).toBe("Ok.");
  });

  it("of the caller in mid-conversation shows the section whole in the next question", async () => {
    for (const options of [{}, { fixed: true }, { strategy: "wrap" }] as const) {
      const { session } = await play(["Ok."], options);
      session.dispatch({ path: "archive", visibility: "full" });
      const { requests } = await play(["Ok."], { session, ...options });
      expect(JSON.stringify(requests[0]?.items)).toContain("Cite every claim.");
      expect(toolNames(requests[0] ?? { tools: [] })).toContain("cite");
    }
  });
});
