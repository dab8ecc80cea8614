import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** The binary that the npm package brings for this platform. */
const platform = `claude-code-${process.platform}-${process.arch}`;
const binary =
  process.env["CLAUDE_CODE"] ??
  fileURLToPath(new URL(`../../node_modules/@anthropic-ai/${platform}/claude`, import.meta.url));
export const missing = !existsSync(binary);
if (missing) process.stderr.write(`Claude Code is not run: there is no ${binary}\n`);

const server = fileURLToPath(new URL("./mcp-server.ts", import.meta.url));
const mcp = { mcpServers: { lab: { command: process.execPath, args: [server] } } };

/** A picture of one pixel. */
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A folder to work in, which is its home too; there is a picture in it. */
export type ClaudeFolder = Disposable & {
  readonly path: string;
  read(name: string): string;
};

export function claudeFolder(): ClaudeFolder {
  const path = mkdtempSync(join(tmpdir(), "patchbay-claude-"));
  writeFileSync(join(path, "pixel.png"), Buffer.from(pixel, "base64"));
  return {
    path,
    read: (name) => readFileSync(join(path, name), "utf8"),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

export type ClaudeRun = { readonly code: number; readonly said: string; readonly errors: string };

/** Runs `claude -p` to its end. */
export async function claude(
  { path }: ClaudeFolder,
  url: string,
  prompt: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<ClaudeRun> {
  const allowed = ["Bash", "Read", "Agent", "ToolSearch", "mcp__lab"];
  const options = ["--mcp-config", JSON.stringify(mcp), "--allowedTools", ...allowed];
  const child = spawn(binary, ["-p", prompt, ...options], {
    cwd: path,
    env: {
      PATH: process.env["PATH"],
      HOME: path,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: "unused",
      ANTHROPIC_MODEL: "claude-opus-5-5",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
  });
  const ended = new Promise<number>((resolve) => {
    child.once("close", (code) => resolve(code ?? -1));
  });
  const [said, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, said: said.trim(), errors };
}
