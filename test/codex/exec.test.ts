import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { sayChat } from "../fake-model.ts";
import { fakeUpstream, type Body, type Model } from "../fake-upstream.ts";
import { onto, serve } from "../serve.ts";

const codex = fileURLToPath(new URL("../../node_modules/.bin/codex", import.meta.url));
const missing = !existsSync(codex);
if (missing) process.stderr.write("codex exec is not judged: @openai/codex is not installed\n");

/** Keeps Codex to the gateway: nothing is looked up anywhere else. */
const configFor = (url: string, model: string): string => `
model = "${model}"
model_provider = "patchbay"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "disabled"
[skills.bundled]
enabled = false
[features]
apps = false
plugins = false
hooks = false
tool_suggest = false
memories = false
shell_snapshot = false
[analytics]
enabled = false
[feedback]
enabled = false
[model_providers.patchbay]
name = "Patchbay"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "PATCHBAY_KEY"
request_max_retries = 0
stream_max_retries = 0
`;

type Place = AsyncDisposable & { readonly home: string; readonly work: string };

async function place(): Promise<Place> {
  const root = await mkdtemp(join(tmpdir(), "patchbay-codex-"));
  const [home, work] = [join(root, "home"), join(root, "work")];
  await Promise.all([mkdir(home), mkdir(work)]);
  const retries = { recursive: true, force: true, maxRetries: 5 };
  return { home, work, [Symbol.asyncDispose]: () => rm(root, retries) };
}

async function exec(
  { home, work }: Place,
  prompt: string,
): Promise<{ code: number; said: string }> {
  const child = spawn(codex, ["exec", "--skip-git-repo-check", "--cd", work, prompt], {
    env: { PATH: process.env["PATH"], HOME: home, CODEX_HOME: home, PATCHBAY_KEY: "unused" },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 20_000,
  });
  const ended = new Promise<number>((resolve) => {
    child.once("close", (code) => resolve(code ?? -1));
  });
  const [said, complaints] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const code = await ended;
  return { code, said: code === 0 ? said.trim() : complaints };
}

/** Runs a command in the shell that Codex offers, then says that it is done. */
const shellThenDone: Model = ({ body }) => {
  const results = (body["messages"] as Body[]).filter((message) => message["role"] === "tool");
  if (results.length > 0) return sayChat(body, { text: "The file is there." });
  const tools = (body["tools"] as Body[]).map((tool) => tool["function"] as Body);
  const shell = tools.find((tool) => "cmd" in (tool["parameters"]?.properties ?? {}));
  const input = JSON.stringify({ cmd: "printf 'from a chat model' > made.txt && cat made.txt" });
  return sayChat(body, { calls: [{ id: "call_1", name: shell?.["name"], arguments: input }] });
};

describe.skipIf(missing)("codex exec on a chat model behind the gateway", () => {
  // Codex offers a model it knows other kinds of tools than one it does not.
  it.each(["some-model", "gpt-5.5"])("runs a command when asked as %s", async (model) => {
    await using upstream = await fakeUpstream(shellThenDone);
    await using served = await serve(onto("chat", upstream.url));
    await using here = await place();
    await writeFile(join(here.home, "config.toml"), configFor(served.url, model));

    expect(await exec(here, "Make the file.")).toEqual({ code: 0, said: "The file is there." });

    expect(await readFile(join(here.work, "made.txt"), "utf8")).toBe("from a chat model");
    expect(upstream.heard).toHaveLength(2);
    const messages = upstream.heard[1]?.body["messages"] as Body[] | undefined;
    const result = messages?.at(-1);
    expect(result).toMatchObject({ role: "tool", tool_call_id: "call_1" });
    expect(JSON.stringify(result)).toContain("from a chat model");
    expect(served.turns().map((turn) => turn.outcome)).toEqual(["completed", "completed"]);
  });
});
