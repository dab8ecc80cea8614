import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { answerInMessages, messagesResults } from "../support/fake-messages.ts";
import {
  answerInChat,
  answerInResponses,
  contentText,
  type FakeAnswer,
} from "../support/fake-model.ts";
import { fakeUpstream, type Body, type Model } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

const run = promisify(execFile);

/** The binary that the npm package brings for this platform. */
const platform = `claude-code-${process.platform}-${process.arch}`;
const binary =
  process.env["CLAUDE_CODE"] ??
  join(import.meta.dirname, "../../node_modules/@anthropic-ai", platform, "claude");
const isMissing = !existsSync(binary);
if (isMissing) process.stderr.write(`Claude Code is not run: there is no ${binary}\n`);

const commands = ["printf one > a.txt", "printf two > b.txt"];

/** Writes two files at once, then says so. */
function play(results: ReadonlyMap<string, string>, tools: readonly string[]): FakeAnswer {
  // Other requests of the client, such as for a title, declare no shell.
  if (!tools.includes("Bash")) return { text: '{"title":"Files"}' };
  if (results.size > 0) return { text: `Done with ${results.size} files.` };
  const calls = commands.map((command, at) => ({
    id: `toolu_${at}`,
    name: "Bash",
    arguments: JSON.stringify({ command, description: "Writes a file" }),
  }));
  return { text: "I write them.", calls };
}

const namesOf = (body: Body): string[] =>
  ((body["tools"] ?? []) as Body[]).map(
    (tool) => (tool["name"] ?? tool["function"]?.name ?? "") as string,
  );

const models = {
  messages: ({ body }) => answerInMessages(body, play(messagesResults(body), namesOf(body))),
  chat: ({ body }) => {
    const results = (body["messages"] as Body[]).filter(({ role }) => role === "tool");
    const byId = new Map(results.map((one) => [one["tool_call_id"], contentText(one["content"])]));
    return answerInChat(body, play(byId, namesOf(body)));
  },
  responses: ({ body }) => {
    const results = (body["input"] as Body[]).filter(({ type }) => type === "function_call_output");
    const byId = new Map(results.map((one) => [one["call_id"], contentText(one["output"])]));
    return answerInResponses(body, play(byId, namesOf(body)));
  },
} as const satisfies Record<string, Model>;

it.skipIf(isMissing).each(["chat", "responses", "messages"] as const)(
  "Claude Code writes two files at once on a %s upstream",
  async (dialect) => {
    await using upstream = await fakeUpstream(models[dialect]);
    await using served = await serve(onto(dialect, upstream.url));
    const folder = mkdtempSync(join(tmpdir(), "claude-"));
    try {
      const running = run(binary, ["-p", "Write two files", "--allowedTools", "Bash"], {
        cwd: folder,
        env: {
          PATH: process.env["PATH"],
          HOME: folder,
          ANTHROPIC_BASE_URL: served.url,
          ANTHROPIC_AUTH_TOKEN: "unused",
          ANTHROPIC_MODEL: "claude-opus-5-5",
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        },
        timeout: 60_000,
      });
      running.child.stdin?.end();
      const { stdout } = await running;
      expect(stdout).toContain("Done with 2 files.");
      const files = ["a.txt", "b.txt"].map((name) => readFileSync(join(folder, name), "utf8"));
      expect(files).toEqual(["one", "two"]);
      const offered = upstream.requests.flatMap(({ body }) => namesOf(body));
      expect(dialect === "messages" ? [] : offered).not.toContain("DeferredToolPlaceholder");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  90_000,
);
