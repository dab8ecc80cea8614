/** The connection to one app-server process: requests, notifications, threads. */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fieldsOf, filledText, numberOf } from "../../dialects/shared/loose.ts";
import type { Clock } from "../../turn/clock.ts";
import type { Fields } from "../../turn/turn.ts";
import { version } from "../version.ts";
import { findCommand } from "./command.ts";
import { CodexError } from "./faults.ts";
import {
  childEnvironment,
  needsLogin,
  OLDEST_VERSION,
  prepareHome,
  type Provider,
  startArguments,
} from "./home.ts";
import { Rpc, type Unexpected } from "./rpc.ts";

/** Milliseconds to wait for a lock of Codex's; the event loop is blocked for as long. */
const LOCK_TIMEOUT = 300;

const discardAll = `
  CREATE TRIGGER IF NOT EXISTS patchbay_keeps_nothing BEFORE INSERT ON logs
    BEGIN SELECT RAISE(IGNORE); END;
  DELETE FROM logs;
`;

/**
 * Codex logs the arguments and results of calls, about 40 kB a turn, to a SQLite
 * database in its home, and has no setting against it. A trigger there discards
 * every row. Returns why that failed, fit for a log.
 */
async function disableLog(home: string): Promise<string | undefined> {
  try {
    const { DatabaseSync } = await import("node:sqlite");
    for (const name of readdirSync(home).filter((one) => /^logs_\d+\.sqlite$/.test(one))) {
      const database = new DatabaseSync(join(home, name), { timeout: LOCK_TIMEOUT });
      try {
        database.exec(discardAll);
      } finally {
        database.close();
      }
    }
    return undefined;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    return typeof code === "string" ? code : "error";
  }
}

const NEWLINE = 0x0a;

type LineOptions = {
  /** Bytes; a longer line is skipped as a whole. */
  readonly longest: number;
  readonly onLine: (line: string) => void;
  readonly onSkipped: () => void;
};

/** Splits chunks into lines. The pieces of a line are joined once, so that the cost is linear. */
export function lineReader({ longest, onLine, onSkipped }: LineOptions): (chunk: Buffer) => void {
  let pieces: Buffer[] = [];
  let held = 0;

  const take = (piece: Buffer): void => {
    held += piece.length;
    // Of a line that is too long only the length is kept.
    if (held <= longest) pieces.push(piece);
    else pieces = [];
  };
  const close = (): void => {
    const [first] = pieces;
    // Most lines are in one chunk and need no copy.
    const line = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
    const isTooLong = held > longest;
    pieces = [];
    held = 0;
    if (isTooLong) return onSkipped();
    const text = line.toString();
    if (text.trim() !== "") onLine(text);
  };

  return (chunk) => {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, from);
      if (end < 0) break;
      take(chunk.subarray(from, end));
      close();
      from = end + 1;
    }
    if (from < chunk.length) take(chunk.subarray(from));
  };
}

type ChildOptions = {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly onLine: (line: string) => void;
  /** Bytes on its standard error, or of a line that is too long to read. */
  readonly onNoise: (bytes: number) => void;
  /** Called once; the reason is fit for a log. */
  readonly onExit: (reason: string) => void;
};

type Child = {
  readonly pid: number | undefined;
  send(line: string): void;
  /** Ends its input, at which it exits. */
  end(): void;
  kill(): void;
};

/** Tool results with images are whole lines, so lines may be long. */
const MAX_LINE = 64 * 1024 * 1024;

/** A child process that reads and writes lines. */
function openChild(options: ChildOptions): Child {
  const child = spawn(options.file, options.arguments, {
    cwd: options.directory,
    env: options.environment,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let exited = false;
  const exit = (reason: string): void => {
    if (exited) return;
    exited = true;
    // A grandchild may have inherited the pipe, and would wait for its end.
    child.stdin.destroy();
    options.onExit(reason);
  };
  child.once("error", (error: NodeJS.ErrnoException) => exit(error.code ?? "error"));
  child.once("close", (code, signal) => exit(signal ?? `exit ${code ?? "unknown"}`));
  // A write to a child that has just died fails too; `close` reports it.
  child.stdin.on("error", () => {});
  child.stdout.on(
    "data",
    lineReader({
      longest: MAX_LINE,
      onLine: options.onLine,
      onSkipped: () => options.onNoise(MAX_LINE),
    }),
  );
  child.stderr.on("data", (chunk: Buffer) => options.onNoise(chunk.length));
  let unsent = "";
  // One write for all messages of one tick: the write costs more than the bytes.
  const write = (): void => {
    const lines = unsent;
    unsent = "";
    if (!exited) child.stdin.write(lines);
  };
  return {
    pid: child.pid,
    send(line) {
      if (unsent === "") queueMicrotask(write);
      unsent += `${line}\n`;
    },
    end: () => void (exited || child.stdin.end()),
    kill: () => void (exited || child.kill("SIGKILL")),
  };
}

/** An entry for the log; never content. */
export type Notice =
  | { readonly event: "started"; readonly pid: number | undefined }
  | { readonly event: "gone"; readonly reason: string }
  | { readonly event: "noise"; readonly bytes: number }
  | { readonly event: "limits"; readonly percent: number }
  | { readonly event: "keeps-log"; readonly reason: string }
  | { readonly event: Unexpected };

type ServerOptions = {
  readonly command: string;
  readonly home: string;
  readonly provider: Provider;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Of every request to the process, in milliseconds. */
  readonly timeout: number;
  readonly notice: (notice: Notice) => void;
};

/** A process that is initialized and takes requests. */
export type AppServer = {
  readonly pid: number | undefined;
  readonly rpc: Rpc;
  /** Ends its input, and kills it if it does not exit. */
  close(): Promise<void>;
};

const MAX_PENDING = 64;
const CLOSE_MS = 3_000;
const RATE_LIMITS = "account/rateLimits/updated";

/** Notifications that nothing here reads; the process is asked not to send them. */
const unreadMethods = (
  "thread/started thread/status/changed thread/settings/updated thread/tokenUsage/updated " +
  "thread/closed item/completed remoteControl/status/changed configWarning"
).split(" ");

/** Starts an app-server. `onExit` is called if it ends after it was initialized. */
export async function startServer(options: ServerOptions, onExit: () => void): Promise<AppServer> {
  const { command, home, provider, environment, clock, timeout, notice } = options;
  const file = findCommand(command, environment["PATH"] ?? "");
  if (file === undefined) throw new CodexError({ type: "no-command", command });
  prepareHome(home, provider, environment);
  let initialized = false;
  let closing = false;
  const ended = Promise.withResolvers<void>();
  const rpc = new Rpc({
    send: (line) => child.send(line),
    clock,
    timeout,
    limit: MAX_PENDING,
    onUnexpected: (event) => notice({ event }),
    onHang: () => child.kill(),
    onNotification: rateLimitNotices(notice),
  });
  const child = openChild({
    file,
    arguments: startArguments(provider),
    environment: childEnvironment(environment, home, provider),
    directory: home,
    onLine: (line) => rpc.receive(line),
    onNoise: (bytes) => notice({ event: "noise", bytes }),
    onExit(reason) {
      if (!closing) notice({ event: "gone", reason });
      ended.resolve();
      // First, so that a turn that is tried again finds another process.
      if (initialized) onExit();
      rpc.fail(
        new CodexError(
          initialized ? { type: "exited", reason } : { type: "not-started", file, reason },
        ),
      );
    },
  });
  try {
    await initialize(rpc, provider);
    initialized = true;
  } catch (error) {
    child.kill();
    const isMute = error instanceof CodexError && error.reason.type === "no-reply";
    const reason = "it did not answer";
    throw isMute ? new CodexError({ type: "not-started", file, reason }) : error;
  }
  notice({ event: "started", pid: child.pid });
  const reason = await disableLog(home);
  if (reason !== undefined) notice({ event: "keeps-log", reason });
  return {
    pid: child.pid,
    rpc,
    async close() {
      closing = true;
      child.end();
      const cancelTimer = clock.at(clock.now() + CLOSE_MS, () => child.kill());
      await ended.promise;
      cancelTimer();
    },
  };
}

async function initialize(rpc: Rpc, provider: Provider): Promise<void> {
  const isSignedIn = needsLogin(provider);
  const { userAgent } = await rpc.request("initialize", {
    clientInfo: { name: "patchbay", title: null, version },
    capabilities: {
      experimentalApi: true,
      requestAttestation: false,
      // Only accounts with a sign-in have an allowance.
      optOutNotificationMethods: isSignedIn ? unreadMethods : [...unreadMethods, RATE_LIMITS],
    },
  });
  const [, theirs = ""] = /\/(\d+\.\d+\.\d+)/.exec(filledText(userAgent) ?? "") ?? [];
  const [major = 0, minor = 0] = theirs.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_VERSION;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor))
    throw new CodexError({ type: "too-old", version: theirs });
  rpc.notify("initialized");
  if (!isSignedIn) return;
  const { account } = await rpc.request("account/read", {});
  if (fieldsOf(account) === undefined) throw new CodexError({ type: "signed-out" });
}

/** Reports the percentage used of the fuller allowance whenever it changes: Codex sends it with every answer. */
function rateLimitNotices(
  notice: ServerOptions["notice"],
): (method: string, params: Fields) => void {
  let last: number | undefined;
  return (method, params) => {
    const limits = method === RATE_LIMITS ? fieldsOf(params.rateLimits) : undefined;
    const used = [limits?.primary, limits?.secondary].flatMap(
      (one) => numberOf(fieldsOf(one)?.usedPercent) ?? [],
    );
    const percent =
      used.length === 0 ? last : Math.round(used.reduce((most, one) => Math.max(most, one)));
    if (percent === undefined || percent === last) return;
    last = percent;
    notice({ event: "limits", percent });
  };
}
