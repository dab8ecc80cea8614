import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Body } from "../support/fake-upstream.ts";
import { serve } from "../support/serve.ts";
import { signaturesIn, signingGemini } from "../support/signing-gemini.ts";
import { codexFolder, exec, mcpServer, missing } from "./codex.ts";

const withServer = mcpServer("local", new URL("./mcp-server.ts", import.meta.url));
const patch = "*** Begin Patch\n*** Add File: patched.txt\n+by Gemini\n*** End Patch\n";
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const thinks = (text: string): Body => ({ text, thought: true });
const calls = (name: string, args: Body, id: string): Body => ({
  functionCall: { id, name, args },
});
const make = calls("exec_command", { cmd: "printf made > made.txt" }, "q7w2e9r1");
const shout = (id: string): Body => calls("mcp__local__shout", { text: "hello" }, id);

/** Thoughts and texts before calls, calls side by side, and a picture as a result. */
const scenes: Readonly<Record<string, readonly (readonly Body[])[]>> = {
  // Codex has a tool for patches for models that it knows, and MCP tools in namespaces for others.
  "gpt-5.5": [
    [thinks("A file first."), { text: "So." }, make],
    [
      calls("apply_patch", { input: patch }, "q7w2e9r2"),
      calls("exec_command", { cmd: "true" }, "q7w2e9r3"),
    ],
    [thinks("Look."), calls("view_image", { path: "dot.png" }, "q7w2e9r4")],
    [calls("tool_search", { query: "shout a text in capitals", limit: 5 }, "q7w2e9r5")],
    [thinks("Again."), shout("q7w2e9r6"), shout("q7w2e9r7")],
    [thinks("That was all."), { text: "Done." }],
  ],
  "some-model": [
    [thinks("A file first."), make, shout("q7w2e9r2")],
    [{ text: "Again." }, shout("q7w2e9r3")],
    [thinks("That was all."), { text: "Done." }],
  ],
};

describe.skipIf(missing)("codex exec on Gemini", () => {
  it.each([
    ["gpt-5.5", "gemini-3.5-flash"],
    ["gpt-5.5", "gemini-2.5-pro"],
    ["some-model", "gemini-4-argon"],
  ])("works as %s with all signatures of %s given back", async (as, model) => {
    const turns = scenes[as] ?? [];
    await using gemini = await signingGemini((_, index) => turns[index] ?? [{ text: "No more." }]);
    const up = { dialect: "gemini" as const, base_url: gemini.upstream.url, retries: 0 };
    await using served = await serve({ upstreams: { up }, models: { "*": `up/${model}` } });
    await using here = await codexFolder({ url: served.url, model: as, more: withServer });
    await writeFile(join(here.work, "dot.png"), Buffer.from(png, "base64"));
    const outcome = await exec(here, "Do it.");
    expect(gemini.refusals).toEqual([]);
    expect(outcome).toEqual({ code: 0, said: "Done." });
    expect(await readFile(join(here.work, "made.txt"), "utf8")).toBe("made");
    const patched = join(here.work, "patched.txt");
    expect(as === "gpt-5.5" ? await readFile(patched, "utf8") : "by Gemini\n").toBe("by Gemini\n");
    const sent = JSON.stringify(gemini.last());
    expect([sent.includes("HELLO"), sent.includes("image/png")]).toEqual([true, as === "gpt-5.5"]);
    const returned = Object.entries(signaturesIn(gemini.last()));
    expect(returned.filter(([, one]) => one !== undefined)).toEqual([...gemini.signed]);
    expect(gemini.upstream.requests).toHaveLength(turns.length);
  });
});
