import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const codex = fileURLToPath(new URL("../../node_modules/.bin/codex", import.meta.url));
export const missing = !existsSync(codex);
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

/** Lines of configuration for an MCP server whose tools need no approval. */
export const mcpServer = (name: string, script: URL): string => `
[mcp_servers.${name}]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(fileURLToPath(script))}]
default_tools_approval_mode = "approve"
`;

/** A home and a work folder of Codex's own. */
export type CodexFolder = AsyncDisposable & { readonly home: string; readonly work: string };

export type CodexFolderOptions = {
  /** Where the gateway is. */
  readonly url: string;
  readonly model: string;
  /** More lines of configuration. */
  readonly more?: string;
};

export async function codexFolder({
  url,
  model,
  more = "",
}: CodexFolderOptions): Promise<CodexFolder> {
  const root = await mkdtemp(join(tmpdir(), "patchbay-codex-"));
  const [home, work] = [join(root, "home"), join(root, "work")];
  await Promise.all([mkdir(home), mkdir(work)]);
  await writeFile(join(home, "config.toml"), configFor(url, model) + more);
  const retries = { recursive: true, force: true, maxRetries: 5 };
  return { home, work, [Symbol.asyncDispose]: () => rm(root, retries) };
}

/** Runs `codex exec` to its end; what it said, or what it complained of. */
export async function exec(
  { home, work }: CodexFolder,
  prompt: string,
): Promise<{ code: number; said: string }> {
  const child = spawn(codex, ["exec", "--skip-git-repo-check", "--cd", work, prompt], {
    env: { PATH: process.env["PATH"], HOME: home, CODEX_HOME: home, PATCHBAY_KEY: "unused" },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 25_000,
  });
  const ended = new Promise<number>((resolve) => {
    child.once("close", (code) => resolve(code ?? -1));
  });
  const [said, complaints] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const code = await ended;
  return { code, said: code === 0 ? said.trim() : complaints };
}
