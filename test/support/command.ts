/** Runs `patchbay` commands in this process: no new process has to load the modules again. */

import { vi } from "vitest";
import { runPatchbay } from "../../cli/cli.ts";

export type CommandOutput = {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
};

export type CommandPlace = {
  readonly directory: string;
  /** The whole environment of the command. */
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** Thrown in place of the end of the process. */
class Exit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command to its end. Commands share the environment, the folder, the exit code and the
 * console of the process, so each waits for the one before it. What is about the process itself
 * (signals, standard input, a terminal, a child that writes to the same output) needs a real one.
 */
export function runCommand(words: readonly string[], place: CommandPlace): Promise<CommandOutput> {
  const run = last.then(() => runAlone(words, place));
  last = run.catch(() => {});
  return run;
}

async function runAlone(words: readonly string[], place: CommandPlace): Promise<CommandOutput> {
  const env = { ...process.env };
  const directory = process.cwd();
  const exit = process.exit.bind(process);
  let out = "";
  let errors = "";
  setEnvironment(place.env);
  process.chdir(place.directory);
  const log = vi.spyOn(console, "log").mockImplementation((text) => void (out += `${text}\n`));
  const error = vi
    .spyOn(console, "error")
    .mockImplementation((text) => void (errors += `${text}\n`));
  process.exit = (code) => {
    throw new Exit(Number(code ?? process.exitCode ?? 0));
  };
  try {
    await runPatchbay(words);
    return { code: Number(process.exitCode ?? 0), out, errors };
  } catch (thrown) {
    if (thrown instanceof Exit) return { code: thrown.code, out, errors };
    throw thrown;
  } finally {
    process.exitCode = undefined;
    process.exit = exit;
    log.mockRestore();
    error.mockRestore();
    process.chdir(directory);
    setEnvironment(env);
  }
}

/** Changes the variables of the real environment, which `os` and child processes read too. */
function setEnvironment(env: CommandPlace["env"]): void {
  for (const name of Object.keys(process.env))
    if (env[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && process.env[name] !== value) process.env[name] = value;
}
