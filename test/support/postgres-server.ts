import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import postgres from "postgres";

const DEBIAN = "/usr/lib/postgresql";

/** Where the server's programs are: on PATH, or where Debian puts them. */
function programsFolder(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted().toReversed() : [];
  const folders = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...versions.map((version) => join(DEBIAN, version, "bin")),
  ];
  return folders.find((folder) =>
    ["initdb", "postgres"].every((program) => existsSync(join(folder, program))),
  );
}

const programs = programsFolder();

/** Why tests with PostgreSQL cannot run here; undefined: they can. */
export const missing: string | undefined =
  programs === undefined
    ? ": needs `initdb` and `postgres`: apt-get install postgresql"
    : undefined;

/** The server refuses to run as root, and `nobody` is everywhere. */
const asNobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

export type PostgresServer = AsyncDisposable & {
  /** A new, empty database; its address. */
  createDatabase(): Promise<string>;
  start(): Promise<void>;
  /** Ends it; `SIGINT` ends connections in good order, `SIGQUIT` at once and without. */
  stop(signal?: "SIGINT" | "SIGQUIT"): Promise<void>;
  /** Has every process of it stand still, or go on. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
};

/** A PostgreSQL server of its own, on loopback and in a temporary folder. */
export async function postgresServer(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-postgres-"));
  const port = await freePort();
  const data = join(folder, "data");
  if (asNobody.uid !== undefined) chownSync(folder, asNobody.uid, asNobody.gid);
  const options = ["-U", "patchbay", "-A", "trust", "-E", "UTF8", "--no-sync"];
  // The main process of a test run answers its workers meanwhile.
  await promisify(execFile)(join(programs ?? "", "initdb"), ["-D", data, ...options], {
    ...asNobody,
    cwd: "/",
  });
  let server: ChildProcess | undefined;
  let databases = 0;

  async function start(): Promise<void> {
    const settings = [`port=${port}`, "listen_addresses=127.0.0.1", "unix_socket_directories="];
    const fast = ["fsync=off", "max_connections=200"];
    const args = [...settings, ...fast].flatMap((setting) => ["-c", setting]);
    server = spawn(join(programs ?? "", "postgres"), ["-D", data, ...args], {
      ...asNobody,
      cwd: "/",
      stdio: "ignore",
      detached: true,
    });
    await answering();
  }

  async function answering(): Promise<void> {
    for (let tries = 0; ; tries++)
      try {
        return await admin((sql) => sql`SELECT 1`.then(() => {}));
      } catch (error) {
        if (tries === 200) throw error;
        await pause(25);
      }
  }

  async function admin(use: (sql: postgres.Sql) => Promise<void>): Promise<void> {
    const sql = postgres(address("postgres"), { max: 1, onnotice: () => {}, connect_timeout: 2 });
    try {
      await use(sql);
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  const address = (database: string): string => `postgres://patchbay@127.0.0.1:${port}/${database}`;

  async function stop(signal: "SIGINT" | "SIGQUIT" = "SIGINT"): Promise<void> {
    if (server === undefined) return;
    const over = once(server, "close");
    server.kill(signal);
    server = undefined;
    await over;
  }

  await start();
  return {
    start,
    stop,
    signal(signal) {
      for (const pid of processTree(server?.pid ?? 0)) process.kill(pid, signal);
    },
    async createDatabase() {
      const name = `store_${++databases}`;
      await admin((sql) => sql.unsafe(`CREATE DATABASE ${name}`).then(() => {}));
      return address(name);
    },
    async [Symbol.asyncDispose]() {
      await stop("SIGQUIT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Global set-up of the test run: one server for all files, which the first that asks for a database
 * starts.
 */
export async function setup(): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const databases = createHttpServer((_, response) => {
    server ??= postgresServer();
    void server
      .then((started) => started.createDatabase())
      .then(
        (address) => response.end(address),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  databases.listen(0, "127.0.0.1");
  await once(databases, "listening");
  const { port } = databases.address() as AddressInfo;
  process.env["PATCHBAY_TEST_DATABASES"] = `http://127.0.0.1:${port}`;
  return async () => {
    databases.closeAllConnections();
    databases.close();
    await (await server)?.[Symbol.asyncDispose]();
  };
}

/** The address of a new, empty database on the server of the run. Tests that stop a server have one of their own. */
export async function newDatabase(): Promise<string> {
  const response = await fetch(process.env["PATCHBAY_TEST_DATABASES"] ?? "");
  if (!response.ok) throw new Error(await response.text());
  return response.text();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** A process and those that it started. */
function processTree(root: number): number[] {
  const { stdout } = spawnSync("ps", ["-o", "pid=", "--ppid", String(root)], { encoding: "utf8" });
  return [root, ...stdout.trim().split(/\s+/).filter(Boolean).map(Number)];
}
