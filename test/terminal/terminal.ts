/** Runs `patchbay` as a user does, in a home of its own. */

import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { doctorRoutes } from "../../cli/doctor/routes.ts";
import {
  findingLine,
  loadConfig,
  trustConfig,
  type ConfigOrigin,
} from "../../src/configuration.ts";
import { nodePlatform, openRecorded, openServer, operate } from "../../src/serving.ts";
import { runCommand, type CommandOutput } from "../support/command.ts";
import { compileCache } from "../support/compile-cache.ts";

const cli = fileURLToPath(new URL("../../cli/cli.ts", import.meta.url));
/** Commands in this process change the environment while they run. */
const { PATH } = process.env;

type Child = ChildProcessByStdio<null, Readable, Readable>;
export type ServedGateway = {
  readonly url: string;
  readonly child: Child;
  /** What it has said on standard error so far. */
  errors(): string;
  stop(signal?: NodeJS.Signals): Promise<void>;
};

/** A gateway in the process of the test, which commands find as they find one of `serve`. */
export type OpenedGateway = { readonly url: string; stop(): Promise<void> };

export type Terminal = AsyncDisposable & {
  readonly home: string;
  /** The folder of the sockets, and what is in it. */
  readonly run: string;
  files(): readonly string[];
  /** Writes a file into the folder that commands are run in. */
  write(name: string, content: string): string;
  /** The same for a configuration, which is trusted as `patchbay trust` does. */
  configure(content: string, name?: string): string;
  /** Starts a command in a process of its own. */
  start(args: readonly string[], env?: Readonly<Record<string, string>>): Child;
  /** Runs a command to its end in a process of its own. */
  spawned(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<CommandOutput>;
  /** Runs a command to its end in the process of the test. */
  patchbay(...args: string[]): Promise<CommandOutput>;
  /** The same with more in its environment. */
  patchbayWith(env: Readonly<Record<string, string>>, ...args: string[]): Promise<CommandOutput>;
  serve(args?: readonly string[], env?: Readonly<Record<string, string>>): Promise<ServedGateway>;
  /** Opens a gateway in the process of the test: its process, its output and changed files are no subject. */
  open(config?: string, env?: Readonly<Record<string, string>>): Promise<OpenedGateway>;
};

export function openTerminal(): Terminal {
  const home = mkdtempSync(join(tmpdir(), "patchbay-terminal-"));
  const run = join(home, "run");
  const work = join(home, "work");
  mkdirSync(work);
  const environment = {
    ...compileCache,
    PATH,
    HOME: home,
    PATCHBAY_RUNTIME_DIR: run,
  };
  // The home of this process is another.
  const folders = {
    XDG_STATE_HOME: join(home, ".local", "state"),
    XDG_CONFIG_HOME: join(home, ".config"),
  };
  const children = new Set<Child>();
  const gateways: OpenedGateway[] = [];
  const start: Terminal["start"] = (args, env = {}) => {
    const child = spawn(process.execPath, [cli, ...args], {
      cwd: work,
      env: { ...environment, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.add(child);
    return child;
  };
  const write: Terminal["write"] = (name, content) => {
    writeFileSync(join(work, name), content);
    return join(work, name);
  };
  return {
    home,
    run,
    start,
    write,
    configure(content, name = "patchbay.yaml") {
      const file = write(name, content);
      trustConfig(file, folders);
      return file;
    },
    files: () => readdirSync(run).toSorted(),
    spawned: (args, env) => outputOf(start(args, env)),
    patchbay: (...args) => runCommand(args, { directory: work, env: environment }),
    patchbayWith: (env, ...args) =>
      runCommand(args, { directory: work, env: { ...environment, ...env } }),
    serve: async (args = [], env = {}) => served(start(["serve", "--port", "0", ...args], env)),
    async open(config, env = {}) {
      const gateway = await opened({
        file: config,
        port: 0,
        env: { ...environment, ...folders, ...env },
        directory: work,
      });
      gateways.push(gateway);
      return gateway;
    },
    async [Symbol.asyncDispose]() {
      for (const gateway of gateways) await gateway.stop();
      await Promise.all([...children].map((child) => ended(child, "SIGKILL")));
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Does what `serve` does but for the log, signals and changed files. */
async function opened(origin: ConfigOrigin): Promise<OpenedGateway> {
  const loaded = loadConfig(origin);
  if (!loaded.ok) throw new Error(loaded.findings.map(findingLine).join("\n"));
  const { config, files, keys, again } = loaded;
  const { env } = origin;
  const report = (): void => {};
  const gateway = openRecorded(config, { ...nodePlatform(report), environment: env });
  const server = await openServer(gateway, config.server);
  gateway.start();
  const { url } = server;
  const group = process.pid;
  const routes = doctorRoutes(gateway, again);
  const control = await operate(gateway, { url, files, keys, group, env, report, routes });
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    control.close();
    await server.close(0);
  };
  return { url, stop: () => (closing ??= close()) };
}

async function outputOf(child: Child): Promise<CommandOutput> {
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number]>,
  ]);
  return { code, out, errors };
}

async function served(child: Child): Promise<ServedGateway> {
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (piece: string) => (errors += piece));
  for await (const line of createInterface({ input: child.stdout })) {
    const [url] = /http:\/\/[\d.]+:\d+/.exec(line) ?? [];
    if (url !== undefined)
      return {
        url,
        child,
        errors: () => errors,
        stop: (signal = "SIGTERM") => ended(child, signal),
      };
  }
  throw new Error(`the gateway did not start: ${errors}`);
}

async function ended(child: Child, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill(signal);
  await exit;
}
