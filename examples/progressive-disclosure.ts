/**
 * Progressive disclosure: a section whose tools a model is offered once it has
 * read the section. Run it with `npm run example -- progressive-disclosure`; it
 * needs no key, because a stand-in plays the model. It checks what it shows.
 */
import assert from "node:assert/strict";
import { z } from "zod";
// In a project of your own: from "patchbay/agent".
import {
  agent,
  connect,
  run,
  section,
  Session,
  tool,
  type Adapter,
  type RunOptions,
} from "../src/agent.ts";
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
  output: z.object({ answer: z.string(), sources: z.array(z.string()) }),
  sections: [
    section("context", {
      title: "Context",
      body: "Detailed research context...",
      summary: "Research context available.",
      open: false, // as the summary says by itself
      tools: [search, cite], // Tools in a summarized section
    }),
  ],
});

/** Runs the agent, and tells how its tools came. Without a strategy the adapter decides. */
async function evaluate(adapter: Adapter, options: Pick<RunOptions, "strategy"> = {}) {
  const session = new Session();
  const counts: Record<string, number> = {};
  const count = (name: string, by: number): void => void (counts[name] = (counts[name] ?? 0) + by);
  const result = await run(research, {}, { adapter, session, observer: { count }, ...options });
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
  for (const name of ["chat/any", "codex/any"]) {
    const adapter = upstreams.adapter(name);
    // Expect seamless tool expansion, or potential restarts.
    if (adapter.supportsDynamicTools) await withDynamicTools(adapter);
    else await withFixedTools(adapter);
  }
} finally {
  await resources.disposeAsync();
}

/** A chat model takes other tools with every request: they are added to the conversation. */
async function withDynamicTools(chat: Adapter): Promise<void> {
  const dynamic = await evaluate(chat);
  assert.equal(dynamic.strategy, "append");
  assert.equal(dynamic.restarts, 0);
  assert.equal(dynamic.counts["wink.disclosure.dynamic"], 1);
  assert.equal(dynamic.counts["wink.tools.injected"], 2);
  assert.deepEqual(dynamic.tools, [
    ["read_section"],
    ["read_section", "search", "cite"],
    ["read_section", "search", "cite"],
  ]);
  console.log("chat: two tools were added, without a restart");
}

/** Codex fixes tools when a thread starts: the conversation restarts and keeps all its items. */
async function withFixedTools(codex: Adapter): Promise<void> {
  const restarted = await evaluate(codex);
  assert.equal(restarted.strategy, "restart");
  assert.equal(restarted.restarts, 1);
  assert.equal(restarted.counts["wink.disclosure.restarts"], 1);
  assert.equal(restarted.threads, 2);
  assert.deepEqual(restarted.tools, [["read_section"], ["search", "cite"], ["search", "cite"]]);
  console.log("codex: the conversation was restarted once, with what was said");

  // With `wrap` the tools never change, so that neither a restart nor a cache miss is needed.
  const wrapped = await evaluate(codex, { strategy: "wrap" });
  assert.equal(wrapped.restarts, 0);
  assert.equal(wrapped.threads, 1);
  assert.deepEqual(
    wrapped.tools,
    Array.from({ length: 3 }, () => ["read_section", "call_tool"]),
  );
  console.log("codex, wrap: no restart, one thread");
}
