import { once } from "node:events";
import { chmodSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { ByteBudget } from "../../gateway/http/budget.ts";
import { type Console, type ConsoleOptions, openConsole } from "../../observe/console/console.ts";
import { LOCAL_TENANT } from "../../turn/tenant.ts";
import { version } from "../../upstreams/version.ts";
import type { Environment } from "../config/env.ts";
import type { KeySources } from "../config/providers.ts";
import { runtimeFolders } from "../config/user-folders.ts";
import { systemClock } from "../platform/clock.ts";
import { collectBody } from "../server/body-intake.ts";
import { exchangeOf } from "../server/node.ts";
import type { RecordedGateway } from "../server/turn-files.ts";
import {
  type ControlEntry,
  folderProblem,
  newName,
  removeFiles,
  socketPath,
  writeEntry,
} from "./files.ts";

type Operated = Pick<ConsoleOptions, "report" | "rejected" | "routes"> & {
  readonly env: Environment;
  /** Where clients reach it. */
  readonly url: string;
  /** What its configuration was read from. */
  readonly files: readonly string[];
  readonly keys: KeySources;
  /** The process to signal: that of the workers' parent where there are several. */
  readonly group: number;
  /** How many processes share the port. */
  readonly workers?: number | undefined;
  /** The agent that it was started for. */
  readonly agent?: string | undefined;
};

/** Opens the console of a gateway on a private socket. */
export async function operate(
  gateway: RecordedGateway,
  { url, files, keys, group, workers, agent, env, ...others }: Operated,
): Promise<Control> {
  const startedAt = Date.now();
  const details = { pid: process.pid, url, startedAt, files: [...files], keys: { ...keys } };
  const { recorder } = gateway;
  const opened = openConsole(gateway, { ...others, details, clock: systemClock, recorder });
  const entry = { url, startedAt, group, workers, agent };
  const control = await openControl({ serve: opened.serve, env, details: entry });
  return {
    problem: control.problem,
    close() {
      control.close();
      opened.close();
    },
  };
}

type ControlOptions = Pick<Console, "serve"> & {
  readonly env: Environment;
  readonly details: Pick<ControlEntry, "url" | "startedAt" | "group" | "workers" | "agent">;
};

export type Control = {
  /** Why there is none, in a sentence; the gateway serves all the same. */
  readonly problem?: string | undefined;
  readonly close: () => void;
};

/**
 * Opens the private socket of a gateway: HTTP on a Unix socket that only its
 * user can open, or on a named pipe. There is no port, so no page and no other
 * machine reaches it, and no key is needed.
 */
async function openControl(options: ControlOptions): Promise<Control> {
  const name = newName();
  const problems: string[] = [];
  for (const folder of runtimeFolders(options.env)) {
    const problem = folderProblem(folder, name) ?? (await listen(folder, name, options));
    if (typeof problem !== "string") return problem;
    problems.push(`${folder} ${problem}`);
  }
  const remedy = "set PATCHBAY_RUNTIME_DIR to a folder that you can write";
  return {
    problem: `This gateway has no private socket, so \`patchbay status\`, \`top\` and \`logs\` cannot reach it: ${problems.join("; ")}. To have one, ${remedy}.`,
    close() {},
  };
}

/** The largest body that a route takes. */
const BODY_BYTES = 1024 * 1024;

async function listen(
  folder: string,
  name: string,
  { serve: answer, details }: ControlOptions,
): Promise<Control | string> {
  const socket = socketPath(folder, name);
  const budget = new ByteBudget(4 * BODY_BYTES);
  const serve = (request: IncomingMessage, response: ServerResponse): void =>
    collectBody(
      request,
      { limit: BODY_BYTES, budget, tenant: LOCAL_TENANT },
      systemClock,
      (fault, body = "") => {
        if (fault !== null) response.writeHead(fault.status).end();
        else void answer(exchangeOf(request, response, body));
      },
    );
  const server = createServer(serve);
  const remove = (): void => removeFiles(folder, name);
  try {
    await once(server.listen(socket), "listening");
    // The folder is closed to others already.
    if (process.platform !== "win32") chmodSync(socket, 0o600);
    writeEntry(folder, name, { pid: process.pid, version, ...details });
  } catch (error) {
    server.close();
    remove();
    return `cannot hold a socket (${(error as NodeJS.ErrnoException).code ?? "unknown error"})`;
  }
  // Whoever follows must not keep a gateway from ending.
  server.unref();
  process.once("exit", remove);
  return {
    close() {
      process.off("exit", remove);
      server.close();
      server.closeAllConnections();
      remove();
    },
  };
}
