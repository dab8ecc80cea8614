import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { serve } from "../support/serve.ts";
import { strictMessages, type SaidBlock } from "../support/strict-messages/upstream.ts";
import { codexFolder, exec, mcpServer, missing } from "./codex.ts";

const withServer = mcpServer("local", new URL("./mcp-server.ts", import.meta.url));
const patch = "*** Begin Patch\n*** Add File: patched.txt\n+by Claude\n*** End Patch\n";

const thinks = (thinking: string): SaidBlock => ({ type: "thinking", thinking });
const calls = (name: string, input: Body, at: number): SaidBlock => ({
  type: "tool_use",
  id: `toolu_${at}`,
  name,
  input,
});

/** Every way that there is of thinking, before, between and behind calls. */
const scenes: Readonly<Record<string, readonly (readonly SaidBlock[])[]>> = {
  // Codex has a tool for patches for models that it knows, and MCP tools in namespaces for others.
  "gpt-5.5": [
    [
      thinks("A file first."),
      { type: "text", text: "So." },
      calls("exec_command", { cmd: "printf made > made.txt" }, 1),
    ],
    [
      thinks(""),
      { type: "redacted_thinking" },
      calls("apply_patch", { input: patch }, 2),
      thinks("At once:"),
      calls("exec_command", { cmd: "true" }, 3),
    ],
    [thinks("Which?"), calls("tool_search", { query: "shout a text in capitals", limit: 5 }, 4)],
    [thinks("Again."), calls("mcp__local__shout", { text: "hello" }, 5)],
    [thinks("That was all."), { type: "text", text: "Done." }],
  ],
  "some-model": [
    [thinks("A file first."), calls("exec_command", { cmd: "printf made > made.txt" }, 1)],
    [
      thinks(""),
      { type: "redacted_thinking" },
      calls("exec_command", { cmd: "true" }, 2),
      thinks("At once:"),
      calls("mcp__local__shout", { text: "hello" }, 3),
    ],
    [thinks("Again."), calls("mcp__local__shout", { text: "hello" }, 4)],
    [thinks("That was all."), { type: "text", text: "Done." }],
  ],
};

describe.skipIf(missing)("codex exec on Claude", () => {
  it.each([
    ["gpt-5.5", "claude-opus-5-5"],
    ["some-model", "claude-opus-5-5"],
    ["some-model", "claude-haiku-4-5"],
  ])("works as %s with all that %s thought given back", async (as, model) => {
    const strict = strictMessages();
    await using upstream = await fakeUpstream(({ body }, index) =>
      strict.answer(body, () => scenes[as]?.[index] ?? [{ type: "text", text: "No more." }]),
    );
    const base_url = upstream.url;
    const up = { dialect: "messages" as const, profile: "anthropic", base_url, retries: 0 };
    await using served = await serve({ upstreams: { up }, models: { "*": `up/${model}` } });
    await using here = await codexFolder({ url: served.url, model: as, more: withServer });
    const outcome = await exec(here, "Do it.");
    expect(strict.refusals).toEqual([]);
    expect(outcome).toEqual({ code: 0, said: "Done." });
    expect(await readFile(join(here.work, "made.txt"), "utf8")).toBe("made");
    const messages = upstream.requests.at(-1)?.body["messages"] as Body[];
    const blocks = messages.flatMap(({ content }) => content as Body[]);
    const thoughts = blocks.map(({ type }) => String(type)).filter((type) => /thinking/.test(type));
    const turns = scenes[as] ?? [];
    const thought = turns
      .slice(0, -1)
      .flat()
      .filter(({ type }) => type.includes("thinking"));
    expect(thoughts).toEqual(thought.map(({ type }) => type));
    expect(JSON.stringify(blocks)).toContain("HELLO");
    const patched = join(here.work, "patched.txt");
    expect(as === "gpt-5.5" ? await readFile(patched, "utf8") : "by Claude\n").toBe("by Claude\n");
    expect(upstream.requests).toHaveLength(turns.length);
  });
});
