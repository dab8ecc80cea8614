/** One app-server process. */

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

/** Milliseconds to wait for a lock of Codex's, which block the event loop. */
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
  let length = 0;
  return (chunk) => {
    for (let from = 0; from < chunk.length;) {
      const end = chunk.indexOf(NEWLINE, from);
      const piece = chunk.subarray(from, end < 0 ? chunk.length : end);
      length += piece.length;
      const isTooLong = length > longest;
      if (isTooLong) pieces = [];
      else pieces.push(piece);
      if (end < 0) return;
      from = end + 1;
      const [first] = pieces;
      // Most lines are in one chunk and need no copy.
      const line = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
      pieces = [];
      length = 0;
      const text = line.toString();
      if (isTooLong) onSkipped();
      else if (text.trim() !== "") onLine(text);
    }
  };
}

/** An entry for the log; never content. */
export type ServerNotice =
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
  /** Longest time of a request to the process, in milliseconds. */
  readonly timeout: number;
  readonly notice: (notice: ServerNotice) => void;
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
/** Bytes. Tool results with images are whole lines, so that lines may be long. */
const MAX_LINE = 64 * 1024 * 1024;
const RATE_LIMITS = "account/rateLimits/updated";

/** Notifications without a reader; the process is asked not to send them. */
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
  const child = spawn(file, startArguments(provider), {
    cwd: home,
    env: childEnvironment(environment, home, provider),
    stdio: ["pipe", "pipe", "pipe"],
  });
  let state: "starting" | "ready" | "closing" | "ended" = "starting";
  const ended = Promise.withResolvers<void>();
  const kill = (): void => void child.kill("SIGKILL");
  const rpc = new Rpc({
    send: (lines) => void child.stdin.write(lines),
    clock,
    timeout,
    limit: MAX_PENDING,
    onUnexpected: (event) => notice({ event }),
    onHang: kill,
    onNotification: rateLimitNotices(notice),
  });
  const onEnd = (reason: string): void => {
    if (state === "ended") return;
    const before = state;
    state = "ended";
    // A process that Codex started may have inherited the pipe, and would wait for its end.
    child.stdin.destroy();
    if (before !== "closing") notice({ event: "gone", reason });
    ended.resolve();
    // First, so that a turn that is tried again finds another process.
    if (before !== "starting") onExit();
    rpc.fail(
      new CodexError(
        before === "starting" ? { type: "not-started", file, reason } : { type: "exited", reason },
      ),
    );
  };
  child.once("error", (error: NodeJS.ErrnoException) => onEnd(error.code ?? "error"));
  child.once("close", (code, signal) => onEnd(signal ?? `exit ${code ?? "unknown"}`));
  // A write to a process that has just ended fails too; `close` reports it.
  child.stdin.on("error", () => {});
  child.stderr.on("data", ({ length }: Buffer) => notice({ event: "noise", bytes: length }));
  const onSkipped = (): void => notice({ event: "noise", bytes: MAX_LINE });
  const onLine = (line: string): void => rpc.receive(line);
  child.stdout.on("data", lineReader({ longest: MAX_LINE, onLine, onSkipped }));
  try {
    await initialize(rpc, provider);
    state = "ready";
  } catch (error) {
    kill();
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
      if (state === "ready") state = "closing";
      child.stdin.end();
      const cancelTimer = clock.at(clock.now() + CLOSE_MS, kill);
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
