/** The connection to one app-server process: requests, notifications, threads. */

import { fieldsOf, numberOf, filledText } from "../../dialects/shared/loose.ts";
import type { Clock } from "../../turn/clock.ts";
import type { Fields } from "../../turn/turn.ts";
import { version } from "../version.ts";
import { openChild } from "./child.ts";
import { findCommand } from "./command.ts";
import { CodexError } from "./error.ts";
import { prepareHome } from "./home.ts";
import { disableLog } from "./log-database.ts";
import { Rpc, type Unexpected } from "./rpc.ts";
import {
  childEnvironment,
  needsLogin,
  OLDEST_VERSION,
  startArguments,
  type Provider,
} from "./settings.ts";

/** An entry for the log; never content. */
export type Notice =
  | { readonly event: "started"; readonly pid: number | undefined }
  | { readonly event: "gone"; readonly reason: string }
  | { readonly event: "noise"; readonly bytes: number }
  | { readonly event: "limits"; readonly percent: number }
  | { readonly event: "keeps-log"; readonly reason: string }
  | { readonly event: Unexpected };

export type ServerOptions = {
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
