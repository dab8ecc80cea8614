import { type ChildProcess, fork, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const running = new Set<ChildProcess>();
const folders: string[] = [];

// Whatever ends the bench, nothing that it started may outlive it.
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => process.exit(130));

/** A folder that goes with the bench. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-bench-"));
  folders.push(folder);
  return folder;
}

/** One of our own files as a process that answers messages. */
export function startWorker(file: URL): ChildProcess {
  return keep(fork(file, { stdio: ["ignore", "ignore", "inherit", "ipc"] }));
}

export type Command = {
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly port: number;
  readonly env?: Readonly<Record<string, string>>;
};

/** Starts a server, its output thrown away, and waits until its port takes connections. */
export async function startServer(server: Command): Promise<number> {
  // The caller's keys and flags must not change what is measured.
  const env = { PATH: process.env["PATH"] ?? "", HOME: server.folder, ...server.env };
  const options = { cwd: server.folder, env };
  const child = keep(spawn(server.command, server.args, { ...options, stdio: "ignore" }));
  for (let waited = 0; waited < 15_000; waited += 50) {
    if (child.exitCode !== null || child.pid === undefined) break;
    if (await listening(server.port)) return child.pid;
    await sleep(50);
  }
  child.kill("SIGKILL");
  // What it has against its start, it will say again.
  const again = spawnSync(server.command, server.args, { ...options, timeout: 3000 });
  const why = again.error?.message ?? again.stderr.toString().trim().slice(-500);
  throw new Error(`did not start: ${why}`);
}

/** Starts what only runs beside a server, its output thrown away. */
export function startCommand({ command, args, folder }: Omit<Command, "port">): void {
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder };
  keep(spawn(command, args, { cwd: folder, env, stdio: "ignore" }));
}

export async function freePort(): Promise<number> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<number>();
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    const port = address && typeof address === "object" ? address.port : 0;
    server.close(() => resolve(port));
  });
  return promise;
}

/** Asks everything that was started to end, and insists after two seconds. */
export async function endAll(): Promise<void> {
  for (const child of running) child.kill("SIGTERM");
  for (let waited = 0; running.size > 0 && waited < 2000; waited += 50) await sleep(50);
  for (const child of running) child.kill("SIGKILL");
}

function keep(child: ChildProcess): ChildProcess {
  running.add(child);
  child.once("exit", () => running.delete(child));
  child.once("error", () => running.delete(child));
  return child;
}

function listening(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, "127.0.0.1");
  socket.once("connect", () => resolve(true));
  socket.once("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}
