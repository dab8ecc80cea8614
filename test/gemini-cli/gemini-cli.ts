import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { compileCache } from "../support/compile-cache.ts";

const program = fileURLToPath(new URL("../../node_modules/.bin/gemini", import.meta.url));
export const missing = !existsSync(program);
if (missing) process.stderr.write("Gemini CLI is not run: @google/gemini-cli is not installed\n");

const server = fileURLToPath(new URL("../claude/mcp-server.ts", import.meta.url));
const settings = {
  security: { auth: { selectedType: "gemini-api-key" } },
  mcpServers: { lab: { command: process.execPath, args: [server] } },
};

/** A picture of one pixel. */
export const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A home with an MCP server of forty tools, and a folder to work in with a picture. */
export type GeminiFolder = Disposable & {
  readonly path: string;
  /** The text of a file in the work folder; undefined without one. */
  read(name: string): string | undefined;
};

export function geminiFolder(): GeminiFolder {
  const path = mkdtempSync(join(tmpdir(), "patchbay-gemini-cli-"));
  for (const folder of [".gemini", "work"]) mkdirSync(join(path, folder));
  writeFileSync(join(path, ".gemini", "settings.json"), JSON.stringify(settings));
  writeFileSync(join(path, "work", "pixel.png"), Buffer.from(pixel, "base64"));
  return {
    path,
    read(name) {
      const file = join(path, "work", name);
      return existsSync(file) ? readFileSync(file, "utf8") : undefined;
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

export type GeminiRun = { readonly code: number; readonly said: string; readonly errors: string };

/** Runs `gemini -p` to its end. It may use every tool without asking. `more`: further arguments. */
export async function geminiCli(
  { path }: GeminiFolder,
  url: string,
  prompt: string,
  more: readonly string[] = [],
): Promise<GeminiRun> {
  const child = spawn(program, ["-y", "-m", "m1", "-p", prompt, ...more], {
    cwd: join(path, "work"),
    env: {
      ...compileCache,
      PATH: process.env["PATH"],
      HOME: path,
      // It writes reports of errors there.
      TMPDIR: path,
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_API_KEY: "unused",
      GEMINI_CLI_TRUST_WORKSPACE: "true",
      // The program starts itself again to set a limit of memory.
      GEMINI_CLI_NO_RELAUNCH: "true",
    },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 120_000,
  });
  const ended = new Promise<number>((resolve) => {
    child.once("close", (code) => resolve(code ?? -1));
  });
  const [said, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, said: said.trim(), errors };
}
