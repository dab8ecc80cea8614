import { execFile, spawn } from "node:child_process";
import { constants } from "node:os";
import { Fault } from "../../src/turn/fault.ts";
import type { Environment } from "../../src/host/config/env.ts";
import type { Output } from "./agent.ts";

/** What an agent prints, for questions that it answers by itself; nothing where it does not. */
export const outputOf =
  (file: string, env: Environment): Output =>
  (args, limitMs = 10_000) =>
    new Promise((resolve) => {
      const options = {
        env,
        timeout: limitMs,
        killSignal: "SIGKILL",
        maxBuffer: 32 * 1024 * 1024,
        shell: onWindows,
      } as const;
      execFile(file, [...args], options, (error, stdout) => resolve(error === null ? stdout : ""));
    });

/** What npm puts on PATH there is a script for its shell. */
const onWindows = process.platform === "win32";

/** A terminal sends its interrupt to the agent as well; these two only to whoever is named. */
const passedOn = ["SIGTERM", "SIGHUP"] as const;

/** Runs an agent in this terminal to its end and gives its exit code, as a shell would. */
export function runAgent(file: string, args: readonly string[], env: Environment): Promise<number> {
  const child = spawn(file, [...args], { stdio: "inherit", env, shell: onWindows });
  const wait = (): void => {}; // What the agent makes of it decides.
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on("SIGINT", wait);
  for (const signal of passedOn) process.on(signal, pass);
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", (error) =>
      reject(new Fault("request.invalid", `${file} does not start: ${error.message}.`)),
    );
    child.once("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 1 : constants.signals[signal])),
    );
  });
  return ended.finally(() => {
    process.off("SIGINT", wait);
    for (const signal of passedOn) process.off(signal, pass);
  });
}
