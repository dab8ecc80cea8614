import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { agent, connect, run, section, Session, tool, type Section } from "../../src/agent.ts";
import { standIn } from "../codex-upstream/gateway.ts";
import { answerInResponses } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { foreign, named } from "./library.ts";
import { scriptModel, toolNames, type ScriptedAnswer } from "./script-model.ts";

const closedAtFirst: readonly Section[] = [
  section("archive", {
    title: "Archive",
    summary: "Search and cite.",
    body: "Cite every claim.",
    tools: [named("search"), named("cite")],
  }),
];
const openAtFirst: readonly Section[] = [
  section("task", { title: "Task", summary: "A task.", body: "Do it.", open: true }),
  section("notes", { title: "Notes", body: "Note it.", tools: [named("note")] }),
];

const agentOf = (sections: readonly Section[]) => agent({ name: "small", sections });
const script: readonly ScriptedAnswer[] = [
  [["read_section", { key: "archive" }]],
  [["search", { text: "x" }]],
  "Ok.",
];
/** More than the definitions of the two tools. */
const LONG = "long ".repeat(1000);

describe("without a strategy", () => {
  it.each([
    ["its list of tools grows", "append", {}, "Go."],
    ["it restarts where tools are fixed", "restart", { supportsDynamicTools: false }, "Go."],
    ["it wraps what would cost a long cached conversation", "wrap", {}, LONG],
    ["so it does where tools are fixed", "wrap", { supportsDynamicTools: false }, LONG],
    ["without a cache it grows all the same", "append", { cachedTools: false }, LONG],
    ["the provider loads deferred tools itself", "native", { deferred: true }, LONG],
    [
      "not where nothing can be added",
      "restart",
      { deferred: true, supportsDynamicTools: false },
      "Go.",
    ],
    ["a list that could grow too long is wrapped", "wrap", { maxTools: 2 }, "Go."],
  ] as const)("a small closed section stays closed: %s (%s)", async (_, strategy, can, input) => {
    const { adapter, requests } = scriptModel(["Ok."], can);
    const result = await run(agentOf(closedAtFirst), {}, { adapter, input });
    expect(result.strategy).toBe(strategy);
    expect(toolNames(requests[0] ?? { tools: [] })).not.toContain("search");
    expect(JSON.stringify(requests[0])).not.toContain("Cite every claim.");
  });

  it("a section that is only text never makes the tools change", async () => {
    const style = section("style", { title: "S", summary: "How to write.", body: "Plainly." });
    for (const can of [{ deferred: true }, { supportsDynamicTools: false }, {}]) {
      const read = [[["read_section", { key: "style" }]], "Ok."] as const;
      const { adapter, requests } = scriptModel(read, can);
      const result = await run(agentOf([style]), {}, { adapter, input: LONG });
      expect(requests.map(toolNames)).toEqual([["read_section"], ["read_section"]]);
      expect(result.restarts).toBe(0);
      expect(JSON.stringify(requests[1])).toContain("Plainly.");
    }
  });

  it("a set in which nothing is closed is sent whole", async () => {
    const { adapter, requests } = scriptModel(["Ok."]);
    const result = await run(agentOf(openAtFirst), {}, { adapter, input: "Go." });
    expect(result.strategy).toBe("eager");
    expect(toolNames(requests[0] ?? { tools: [] })).toEqual(["note"]);
    expect(JSON.stringify(requests[0])).toContain("Do it.");
  });

  it("what the caller closes is closed, before the first question and later", async () => {
    const closed = { path: "notes", visibility: "summary" } as const;
    const { adapter, requests } = scriptModel(["One.", "Two."]);
    const session = new Session();
    session.dispatch(closed);
    await run(agentOf(openAtFirst), {}, { adapter, session, input: "Go." });
    expect(requests.map(toolNames)).toEqual([["read_section"]]);

    const later = new Session();
    const again = scriptModel(["One.", "Two."]);
    const options = { adapter: again.adapter, session: later, input: "Go." };
    await run(agentOf(openAtFirst), {}, options);
    later.dispatch(closed);
    await run(agentOf(openAtFirst), {}, options);
    expect(again.requests.map(toolNames)).toEqual([["note"], ["read_section"]]);
  });

  it("a section that comes to exist during a run is closed too", async () => {
    const isIn = ({ session }: { session: { items: readonly { type: string }[] } }): boolean =>
      session.items.some(({ type }) => type === "result");
    const sections = [
      ...openAtFirst,
      section("admin", {
        title: "Admin",
        summary: "Users.",
        body: "Ban with care.",
        tools: [named("ban")],
        when: isIn,
      }),
    ];
    const { adapter, requests } = scriptModel([[["note", { text: "x" }]], "Ok."]);
    await run(agentOf(sections), {}, { adapter, input: "Go." });
    expect(requests.map(toolNames)).toEqual([["note"], ["note", "read_section"]]);
  });

  it("a conversation that was asked to be eager goes on with its sections closed", async () => {
    const { adapter, requests } = scriptModel(["One.", "Two."]);
    const session = new Session();
    const options = { adapter, session, input: "Go." };
    const eager = await run(agentOf(closedAtFirst), {}, { ...options, strategy: "eager" });
    expect(eager.strategy).toBe("eager");
    await run(agentOf(closedAtFirst), {}, options);
    expect(requests.map(toolNames)).toEqual([["search", "cite"], ["read_section"]]);
  });
});

describe("supportsDynamicTools", () => {
  it("is what an adapter is asked: without it sections open by a restart", async () => {
    for (const strategy of ["auto", "append"] as const) {
      const { adapter, requests } = scriptModel(script);
      const fixed = { ...adapter, supportsDynamicTools: false };
      const options = { adapter: fixed, input: "Go.", strategy };
      const result = await run(agentOf(closedAtFirst), {}, options);
      expect(result).toMatchObject({ strategy: "restart", restarts: 1 });
      expect(requests.slice(0, 2).map(toolNames)).toEqual([["read_section"], ["search", "cite"]]);
    }
  });

  it("is asked again in the next run: a conversation whose list grew is restarted", async () => {
    const { adapter } = scriptModel(["One.", ...script]);
    const session = new Session();
    const options = { adapter, session, input: "Go." };
    expect((await run(agentOf(closedAtFirst), {}, options)).strategy).toBe("append");
    const fixed = { ...options, adapter: { ...adapter, supportsDynamicTools: false } };
    const result = await run(agentOf(closedAtFirst), {}, fixed);
    expect(result).toMatchObject({ strategy: "restart", restarts: 1 });
  });

  it("is what the profile of an upstream says, and can be overridden on any adapter", async () => {
    const config = { upstreams: { a: { dialect: "scripted" } }, models: {} } as const;
    await using upstreams = connect(config);
    const adapter = upstreams.adapter("a/m");
    expect(adapter.supportsDynamicTools).toBe(true);
    const options = { adapter: { ...adapter, supportsDynamicTools: false }, input: "Go." };
    const { strategy } = await run(agentOf(closedAtFirst), {}, options);
    expect(strategy).toBe("restart");
  });
});

it("an app-server whose tools are fixed is restarted, with the results of earlier calls", async () => {
  const home = await mkdtemp(join(tmpdir(), "patchbay-agent-"));
  onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  const command = await standIn();
  const codex = { dialect: "codex", command, home, base_url: "http://127.0.0.1:9/v1" } as const;
  await using upstreams = connect(
    { upstreams: { codex: { ...codex, api_key: "none" } } },
    { environment: { HOME: home } },
  );
  const adapter = upstreams.adapter("codex/reads-archive");
  expect(adapter.supportsDynamicTools).toBe(false);
  const session = new Session();
  const options = { adapter, session };
  const { text, strategy, restarts } = await run(agentOf(closedAtFirst), {}, options);
  expect({ strategy, restarts }).toEqual({ strategy: "restart", restarts: 1 });
  expect(JSON.stringify(session.items)).toContain("search did x");
  expect(JSON.parse(text)).toEqual({ thread_1: ["read_section"], thread_2: ["search", "cite"] });
});

it("the first example of docs/guides/agents.md behaves as it says", async () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/guides/agents.md"), "utf8");
  const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
  const body = code.replaceAll(/^import .*$/gm, "").replace("const { output }", "const done");
  await using model = await fakeUpstream(({ body: asked }) =>
    answerInResponses(asked, { text: '{"answer":"Bees.","sources":[]}' }),
  );
  const given = {
    agent,
    run,
    section,
    Session,
    tool,
    z,
    archive: { search: () => [] },
    ban: foreign("ban"),
    api_key: "sk-test",
    connect: ({ upstreams }: { readonly upstreams: { readonly openai: object } }) =>
      connect({
        upstreams: { openai: { ...upstreams.openai, base_url: model.url } as never },
      }),
  };
  type Example = (...values: readonly unknown[]) => Promise<{ output: unknown }>;
  // The example is plain JavaScript once its imports are arguments.
  const AsyncFunction = (async () => {}).constructor as new (...texts: string[]) => Example;
  const example = new AsyncFunction(...Object.keys(given), `${body}\nreturn done;`);
  const { output } = await example(...Object.values(given));
  expect(output).toEqual({ answer: "Bees.", sources: [] });
  const asked: Body = model.requests[0]?.body ?? {};
  const sent = JSON.stringify(asked);
  expect(sent).toContain("Search and cite the archive.");
  expect(sent).not.toContain("Prefer primary sources.");
  expect(sent).not.toMatch(/"name":"search"|Administration of users/);
  expect((asked["tools"] as Body[]).map(({ type }) => type as string)).toEqual(["tool_search"]);
});
