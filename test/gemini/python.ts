import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import type { Toolbox } from "../sdk/gateway.ts";
import type { GeminiClient } from "./client.ts";
import type { GeminiGateway } from "./gateway.ts";

const command = fileURLToPath(new URL("../../.cache/gemini-python/bin/python", import.meta.url));
const script = fileURLToPath(new URL("python.py", import.meta.url));
const isMissing = !existsSync(command);
if (isMissing)
  process.stderr.write(
    "Google's Python SDK is not tried: .ci/run installs it into .cache/gemini-python\n",
  );

let child: ChildProcessWithoutNullStreams | undefined;
const waiting: ((line: string) => void)[] = [];

/** One process for all tests of a file: Python takes two seconds to load the SDK. */
function started(): ChildProcessWithoutNullStreams {
  if (child !== undefined) return child;
  child = spawn(command, [script]);
  child.stderr.pipe(process.stderr);
  createInterface(child.stdout).on("line", (line) => waiting.shift()?.(line));
  return child;
}

type Said = { readonly result?: unknown; readonly called?: Toolbox["called"]; error?: string };

/** Runs one function of the script on the gateway. */
async function run(task: string, { url }: Pick<GeminiGateway, "url">, more = {}): Promise<Said> {
  const line = new Promise<string>((resolve) => waiting.push(resolve));
  started().stdin.write(`${JSON.stringify({ task, url, ...more })}\n`);
  const said = JSON.parse(await line) as Said;
  if (said.error !== undefined) throw new Error(said.error);
  return said;
}

/** Registers the end of the process; to be called by the file of the tests. */
export const python = (): GeminiClient => {
  afterAll(() => void child?.stdin.end());
  return {
    name: "google-genai for Python",
    isMissing,
    async talk(gateway, { stream, box, questions }) {
      const asked = { stream, questions, tools: box !== undefined };
      const { result, called = [] } = await run("talk", gateway, asked);
      for (const { name, input } of called) box?.run(name, input);
      return result as string[];
    },
    object: async (gateway, stream) => (await run("structured", gateway, { stream })).result,
    file: async (gateway, file) => (await run("file", gateway, file)).result as string,
    countTokens: async (gateway, text) => (await run("count", gateway, { text })).result as number,
    models: async (gateway) => (await run("models", gateway)).result as [string[], string[]],
  };
};
