import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { compileCache } from "./compile-cache.ts";

const cli = join(import.meta.dirname, "../../cli/cli.ts");

/** A gateway in a process of its own, as `patchbay serve` runs it. */
export type Replica = AsyncDisposable & {
  readonly url: string;
  readonly process: ChildProcess;
  /** Its configuration. */
  readonly file: string;
  /** What its process has for an environment, so that commands find it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** What it has written to its log; that is nothing where no `--log-level` is given. */
  log(): string;
  /** Ends it at once, in the middle of whatever it does. */
  kill(): Promise<void>;
  /** The same once more, on another port. */
  restart(): Promise<void>;
};

export const replica = (config: ConfigInput, ...options: string[]): Promise<Replica> =>
  limitedReplica(undefined, config, ...options);

/** One that may have only so many descriptors open. */
export async function limitedReplica(
  descriptors: number | undefined,
  config: ConfigInput,
  ...options: string[]
): Promise<Replica> {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-replica-"));
  const file = join(folder, "patchbay.json");
  writeFileSync(file, JSON.stringify(config));
  const environment = {
    ...compileCache,
    PATH: process.env["PATH"],
    HOME: folder,
    PATCHBAY_RUNTIME_DIR: join(folder, "run"),
  };
  let log = "";
  const start = async () => {
    const made = await started(file, options, environment, descriptors);
    made.child.stderr?.on("data", (piece: Buffer) => (log += piece.toString()));
    return made;
  };
  let running = await start();
  return {
    file,
    environment,
    log: () => log,
    get url() {
      return running.url;
    },
    get process() {
      return running.child;
    },
    kill: () => ended(running.child, "SIGKILL"),
    async restart() {
      running = await start();
    },
    async [Symbol.asyncDispose]() {
      await ended(running.child, "SIGTERM");
      rmSync(folder, { recursive: true });
    },
  };
}

async function started(
  file: string,
  options: readonly string[],
  environment: Replica["environment"],
  descriptors: number | undefined,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const serve = [cli, "serve", "--config", file, "--port", "0", "--log-level", "silent"];
  const limit = descriptors === undefined ? "" : `ulimit -n ${descriptors}; `;
  const command = ["-c", `${limit}exec "$0" "$@"`, process.execPath, ...serve];
  const child = spawn("sh", [...command, ...options], {
    env: environment,
    stdio: ["ignore", "pipe", options.includes("--log-level") ? "pipe" : "inherit"],
  });
  if (child.stdout === null) throw new Error("its output is not piped");
  for await (const line of createInterface({ input: child.stdout })) {
    const [url] = /http:\/\/[\d.]+:\d+/.exec(line) ?? [];
    if (url !== undefined) return { child, url };
  }
  throw new Error("the gateway did not start");
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill(signal);
  await exit;
}
