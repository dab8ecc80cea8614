import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { textOf } from "../../dialects/shared/loose.ts";
import { version as ours } from "../version.ts";
import { openChild } from "./child.ts";
import { RATE_LIMITS, readLimits, unheard } from "./events.ts";
import { prepareHome } from "./home.ts";
import { findCommand } from "./command.ts";
import { emptyLog } from "./own-log.ts";
import { Rpc, type Stray } from "./rpc.ts";
import { childEnvironment, needsLogin, startArguments, type Provider } from "./settings.ts";

/** Something to put in the log; never content. */
export type Notice =
  | { readonly event: "started"; readonly pid: number | undefined }
  | { readonly event: "gone"; readonly reason: string }
  | { readonly event: "noise"; readonly bytes: number }
  | { readonly event: "limits"; readonly percent: number }
  | { readonly event: "keeps-log"; readonly reason: string }
  | { readonly event: Stray };

export type ServerOptions = {
  /** The upstream's name. */
  readonly name: string;
  readonly command: string;
  readonly home: string;
  readonly provider: Provider;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Of every request to the child, in milliseconds. */
  readonly timeout: number;
  readonly notice: (notice: Notice) => void;
};

/** An app-server that has been greeted and can be asked. */
export type AppServer = {
  readonly pid: number | undefined;
  readonly rpc: Rpc;
  /** Lets it end by itself, and ends it if it does not. */
  close(): Promise<void>;
};

/** The oldest that asks for several calls at once. */
const OLDEST = [0, 164] as const;
const IN_FLIGHT = 64;
const CLOSE_MS = 3_000;

/** Starts an app-server. `gone` is called once if it ends after all went well. */
export async function startServer(options: ServerOptions, gone: () => void): Promise<AppServer> {
  const { name, home, provider, environment, clock, timeout, notice } = options;
  const file = findCommand(options.command, environment["PATH"] ?? "");
  if (file === undefined) throw missing(options);
  if (!furnish(options)) throw taken(options);
  let greeted = false;
  let closing = false;
  const ended = Promise.withResolvers<void>();
  const rpc = new Rpc({
    send: (line) => child.send(line),
    clock,
    timeout,
    most: IN_FLIGHT,
    stray: (event) => notice({ event }),
    stopped: () => child.kill(),
    aside: limitsTeller(notice),
  });
  const child = openChild({
    file,
    arguments: startArguments(provider),
    environment: childEnvironment(environment, home, provider),
    directory: home,
    line: (line) => rpc.hear(line),
    noise: (bytes) => notice({ event: "noise", bytes }),
    gone(reason) {
      // One that was let go of is no loss to tell of.
      if (!closing) notice({ event: "gone", reason });
      ended.resolve();
      // First, so that a turn that is tried again does not come back here.
      if (greeted) gone();
      rpc.fail(greeted ? died(name, reason) : stillborn({ name, home, file, reason }));
    },
  });
  try {
    await greet(rpc, options);
    greeted = true;
  } catch (error) {
    child.kill();
    const isMute = error instanceof Fault && error.code === "upstream.headers_timeout";
    throw isMute ? stillborn({ name, home, file, reason: "it did not answer" }) : error;
  }
  notice({ event: "started", pid: child.pid });
  const reason = await emptyLog(home);
  if (reason !== undefined) notice({ event: "keeps-log", reason });
  return {
    pid: child.pid,
    rpc,
    async close() {
      closing = true;
      child.end();
      const calledOff = clock.at(clock.now() + CLOSE_MS, () => child.kill());
      await ended.promise;
      calledOff();
    },
  };
}

async function greet(rpc: Rpc, options: ServerOptions): Promise<void> {
  const greeting = await rpc.request("initialize", {
    clientInfo: { name: "patchbay", title: null, version: ours },
    capabilities: {
      experimentalApi: true,
      requestAttestation: false,
      // Only an account that is signed in to has an allowance.
      optOutNotificationMethods: needsLogin(options.provider) ? unheard : [...unheard, RATE_LIMITS],
    },
  });
  const [, theirs = ""] = /\/(\d+\.\d+\.\d+)/.exec(textOf(greeting.userAgent) ?? "") ?? [];
  const [major = 0, minor = 0] = theirs.split(".").map(Number);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
    throw new Fault(
      "upstream.unreachable",
      `Upstream \`${options.name}\` runs Codex ${theirs || "of an unknown version"}; it must be ${OLDEST.join(".")} or newer. Update it: npm install -g @openai/codex.`,
    );
  rpc.notify("initialized");
  if (!needsLogin(options.provider)) return;
  const { account } = await rpc.request("account/read", {});
  if (account === null || account === undefined) throw signedOut(options);
}

function furnish({ name, home, provider, environment }: ServerOptions): boolean {
  try {
    return prepareHome(home, provider, environment);
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    throw new Fault(
      "upstream.unreachable",
      `Upstream \`${name}\` cannot write to its home ${home} (${typeof code === "string" ? code : "error"}). Make that a folder it may write to, or name another in \`upstreams.${name}.home\`.`,
      {},
      error,
    );
  }
}

/** Codex says how much is used with every answer; it is told again when it has changed. */
function limitsTeller(notice: ServerOptions["notice"]): (method: string, params: Fields) => void {
  let told: number | undefined;
  return (method, params) => {
    const percent = method === RATE_LIMITS ? readLimits(params) : undefined;
    if (percent === undefined || percent === told) return;
    told = percent;
    notice({ event: "limits", percent });
  };
}

const missing = ({ name, command }: ServerOptions): Fault =>
  new Fault(
    "upstream.unreachable",
    `Upstream \`${name}\` needs Codex, and there is no \`${command}\` to run. Install it (npm install -g @openai/codex), or name it in \`upstreams.${name}.command\`.`,
  );

const taken = ({ name, home }: ServerOptions): Fault =>
  new Fault(
    "upstream.unreachable",
    `Upstream \`${name}\` would have to replace ${home}/config.toml, which Patchbay did not write. Give \`upstreams.${name}.home\` a folder of its own; a sign-in in ~/.codex is found from there.`,
  );

/** How to get in. */
export const signIn = ({ name, home }: Pick<ServerOptions, "name" | "home">): string =>
  `Run \`CODEX_HOME=${home} codex login\`, or set \`upstreams.${name}.api_key\`.`;

const signedOut = (options: ServerOptions): Fault =>
  new Fault("upstream.auth", `Codex is not signed in. ${signIn(options)}`);

type Stillborn = {
  readonly name: string;
  readonly home: string;
  readonly file: string;
  readonly reason: string;
};

const stillborn = ({ name, home, file, reason }: Stillborn): Fault =>
  new Fault(
    "upstream.unreachable",
    `The Codex process of upstream \`${name}\` did not start (${reason}); run \`CODEX_HOME=${home} ${file} app-server\` by hand to see why.`,
  );

const died = (name: string, reason: string): Fault =>
  new Fault(
    "upstream.cut",
    `The Codex process of upstream \`${name}\` ended (${reason}) before the answer was over; send the request again.`,
  );
