import { once } from "node:events";
import { chmodSync } from "node:fs";
import { ByteBudget } from "../../gateway/http/budget.ts";
import { type Console, type ConsoleOptions, openConsole } from "../../observe/console/console.ts";
import { LOCAL_TENANT } from "../../turn/tenant.ts";
import { version } from "../../upstreams/version.ts";
import type { Environment } from "../config/env.ts";
import type { KeySources } from "../config/providers.ts";
import { runtimeFolders } from "../config/user-folders.ts";
import { systemClock } from "../platform/clock.ts";
import { createServer } from "../platform/node-http.ts";
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

type Operated = Pick<ConsoleOptions, "report" | "rejected" | "routes"> &
  Pick<ControlEntry, "url" | "group" | "workers" | "agent"> & {
    readonly env: Environment;
    /** The files of its configuration. */
    readonly files: readonly string[];
    readonly keys: KeySources;
  };

export type Control = {
  /** The reason why there is no socket, in a sentence; the gateway serves its clients without it. */
  readonly problem?: string | undefined;
  readonly close: () => void;
};

/**
 * Opens the console of a gateway on a private socket: HTTP on a Unix socket that only its user can
 * open, or on a named pipe. There is no port, so no page and no other machine reaches it, and no
 * key is needed.
 */
export async function operate(
  gateway: RecordedGateway,
  { url, files, keys, group, workers, agent, env, ...others }: Operated,
): Promise<Control> {
  const { pid } = process;
  const startedAt = Date.now();
  const details = { pid, url, startedAt, files: [...files], keys: { ...keys } };
  const { recorder } = gateway;
  const opened = openConsole(gateway, { ...others, details, clock: systemClock, recorder });
  const entry = { pid, version, url, startedAt, group, workers, agent };
  const name = newName();
  const problems: string[] = [];
  for (const folder of runtimeFolders(env)) {
    const end = folderProblem(folder, name) ?? (await listen(folder, name, opened, entry));
    if (typeof end === "string") problems.push(`${folder} ${end}`);
    else
      return {
        close() {
          end();
          opened.close();
        },
      };
  }
  const remedy = "set PATCHBAY_RUNTIME_DIR to a folder that you can write";
  return {
    problem: `This gateway has no private socket, so \`patchbay status\`, \`top\` and \`logs\` cannot reach it: ${problems.join("; ")}. Remedy: ${remedy}.`,
    close: opened.close,
  };
}

/** The largest body that a route takes. */
const BODY_BYTES = 1024 * 1024;

/** Serves the console on a socket in a folder. Gives the function that closes it, or the problem. */
async function listen(
  folder: string,
  name: string,
  console: Console,
  entry: ControlEntry,
): Promise<(() => void) | string> {
  const socket = socketPath(folder, name);
  const budget = new ByteBudget(4 * BODY_BYTES);
  const share = { limit: BODY_BYTES, budget, tenant: LOCAL_TENANT };
  const server = createServer((request, response) =>
    collectBody(request, share, systemClock, (fault, body = "") => {
      if (fault !== null) response.writeHead(fault.status).end();
      else void console.serve(exchangeOf(request, response, body));
    }),
  );
  const remove = (): void => removeFiles(folder, name);
  try {
    await once(server.listen(socket), "listening");
    // The folder is closed to others already.
    if (process.platform !== "win32") chmodSync(socket, 0o600);
    writeEntry(folder, name, entry);
  } catch (error) {
    server.close();
    remove();
    return `cannot hold a socket (${(error as NodeJS.ErrnoException).code ?? "unknown error"})`;
  }
  // A connection to the console must not keep a gateway from ending.
  server.unref();
  process.once("exit", remove);
  return () => {
    process.off("exit", remove);
    server.close();
    server.closeAllConnections();
    remove();
  };
}
