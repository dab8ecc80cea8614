/**
 * Progressive disclosure: a section whose tools a model is offered once it has
 * read the section. Run it with `node examples/progressive-disclosure.ts`; it
 * needs no key, because a stand-in plays the model. It checks what it shows.
 */
import assert from "node:assert/strict";
import { z } from "zod";
// In a project of your own: from "patchbay/agent".
import { agent, connect, run, section, Session, tool, type Adapter } from "../src/agent.ts";
import { codexCommand, standInModel, temporaryFolder } from "./support/model.ts";

const search = tool({
  name: "search",
  description: "Search the archive.",
  params: z.object({ query: z.string(), limit: z.int().max(50).default(10) }),
  run: ({ query, limit }) => [{ id: "a1", text: `On ${query}` }].slice(0, limit),
});
const cite = tool({
  name: "cite",
  description: "Cite a document of the archive.",
  params: z.object({ id: z.string() }),
  run: ({ id }) => `[${id}]`,
});

const research = agent({
  name: "research",
  params: z.object({ topic: z.string() }),
  output: z.object({ answer: z.string(), sources: z.array(z.string()) }),
  sections: [
    section("task", { title: "Task", body: "Write about {{topic}}." }),
    section("context", {
      title: "Context",
      summary: "Research context available.",
      body: "Detailed research context: cite every claim.",
      tools: [search, cite],
    }),
  ],
});

/** Runs it, and tells in what way the tools came. */
async function evaluate(adapter: Adapter, strategy: "append" | "restart" | "wrap") {
  const session = new Session();
  const counts: Record<string, number> = {};
  const count = (name: string, by: number): void => void (counts[name] = (counts[name] ?? 0) + by);
  const result = await run(
    research,
    { topic: "bees" },
    { adapter, session, strategy, input: "Begin.", observer: { count } },
  );
  assert.deepEqual(result.output, { answer: "Bees are insects.", sources: ["a1"] });
  // Saved and resumed, a session has the same sections open.
  const resumed = Session.from(JSON.parse(JSON.stringify(session)));
  assert.deepEqual([...resumed.overrides], [["context", "full"]]);
  const requests = model.takeRequests();
  return {
    ...result,
    counts,
    tools: requests.map(({ tools }) => tools),
    threads: new Set(requests.map(({ thread }) => thread)).size,
  };
}

const resources = new AsyncDisposableStack();
const model = resources.use(await standInModel());
const folder = resources.use(await temporaryFolder());
const upstreams = resources.use(
  connect({
    upstreams: {
      chat: { dialect: "chat", base_url: model.url },
      codex: {
        dialect: "codex",
        command: codexCommand,
        home: folder.path,
        base_url: model.url,
        api_key: "none",
      },
    },
  }),
);
try {
  await onChat(upstreams.adapter("chat/any"));
  await onCodex(upstreams.adapter("codex/any"));
} finally {
  await resources.disposeAsync();
}

/** A chat model takes other tools with every request: they are added to the conversation. */
async function onChat(chat: Adapter): Promise<void> {
  assert.equal(chat.supportsDynamicTools, true);
  const dynamic = await evaluate(chat, "append");
  assert.equal(dynamic.restarts, 0);
  assert.equal(dynamic.counts["wink.disclosure.dynamic"], 1);
  assert.equal(dynamic.counts["wink.tools.injected"], 2);
  assert.deepEqual(dynamic.tools, [
    ["read_section"],
    ["read_section", "search", "cite"],
    ["read_section", "search", "cite"],
  ]);
  console.log("chat, append: two tools were added, without a restart");
}

/** Codex fixes tools when a thread starts: what was asked as `append` becomes a restart. */
async function onCodex(codex: Adapter): Promise<void> {
  assert.equal(codex.supportsDynamicTools, false);
  const restarted = await evaluate(codex, "append");
  assert.equal(restarted.strategy, "restart");
  assert.equal(restarted.restarts, 1);
  assert.equal(restarted.counts["wink.disclosure.restarts"], 1);
  assert.equal(restarted.threads, 2);
  assert.deepEqual(restarted.tools, [["read_section"], ["search", "cite"], ["search", "cite"]]);
  console.log("codex, append: the conversation was restarted once, with what was said");

  // With `wrap` the tools never change, so that neither a restart nor a cache miss is needed.
  const wrapped = await evaluate(codex, "wrap");
  assert.equal(wrapped.restarts, 0);
  assert.equal(wrapped.threads, 1);
  assert.deepEqual(
    wrapped.tools,
    Array.from({ length: 3 }, () => ["read_section", "call_tool"]),
  );
  console.log("codex, wrap: no restart, one thread");
}
