/** The gateway under trial, as a process that may be killed. */

import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

export type GatewayProcess = {
  /** How often it was killed or stopped so far: what was under way may be cut then. */
  readonly deaths: number;
  readonly isUp: boolean;
  start(): Promise<void>;
  /** Ends it without warning. */
  kill(): Promise<void>;
  /** Asks it to end, and waits. */
  stop(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Resident memory in megabytes. */
  rss(): number;
};

export type GatewayOptions = {
  readonly config: string;
  readonly port: number;
  /** Megabytes of heap; none: Node's default. */
  readonly heap: number | undefined;
  /** Descriptors that it may have open. */
  readonly descriptors: number;
  /** Megabytes that a file may have: to its writer, the disk is full then. */
  readonly disk: number;
};

const root = join(import.meta.dirname, "..");

export function gatewayProcess({
  config,
  port,
  heap,
  descriptors,
  disk,
}: GatewayOptions): GatewayProcess {
  let child: ChildProcess | undefined;
  let deaths = 0;
  let isUp = false;
  const flags = [
    ...(heap === undefined ? [] : [`--max-old-space-size=${heap}`]),
    "--import",
    join(root, "chaos/clock-steps.ts"),
    join(root, "cli/cli.ts"),
    "serve",
    "--config",
    config,
    "--port",
    String(port),
    "--log-level",
    "error",
  ];
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child;
    if (ending === undefined) return;
    deaths++;
    isUp = false;
    const gone = new Promise<void>((resolve) => ending.once("exit", () => resolve()));
    ending.kill("SIGCONT");
    ending.kill(signal);
    await gone;
    child = undefined;
  };
  return {
    get deaths() {
      return deaths;
    },
    get isUp() {
      return isUp;
    },
    async start() {
      const started = spawn(
        "bash",
        [
          "-c",
          `ulimit -n ${descriptors} -f ${disk * 1024}; exec "$0" "$@"`,
          process.execPath,
          ...flags,
        ],
        {
          stdio: ["ignore", "ignore", "inherit"],
        },
      );
      child = started;
      started.once("exit", (code, signal) => {
        if (child !== started || !isUp) return;
        process.stdout.write(`the gateway ended by itself: ${code ?? signal}\n`);
        process.exitCode = 1;
        isUp = false;
      });
      for (let tried = 0; tried < 1200; tried++) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        const health = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
        if (health?.ok === true) {
          isUp = true;
          return;
        }
      }
      throw new Error("the gateway did not start");
    },
    kill: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
    signal: (signal) => void child?.kill(signal),
    rss() {
      try {
        const status = readFileSync(`/proc/${child?.pid}/status`, "utf8");
        return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
      } catch {
        return 0; // It is just not there.
      }
    },
  };
}
