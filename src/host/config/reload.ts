import { realpathSync, watch, type FSWatcher } from "node:fs";
import { basename, dirname } from "node:path";
import type { ConsoleStatus } from "../../observe/console/wire.ts";
import type { Config } from "../../gateway/config.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { bindProblem } from "../server/address.ts";
import { findingLine } from "./config-file.ts";
import { loadConfig } from "./load.ts";
import type { ConfigOrigin } from "./sources.ts";
import type { Logger } from "../server/log.ts";

/** Editors and deployments change a file in several steps; it is read this long after the last one. */
const SETTLE_MS = 100;

/**
 * Calls `changed` when a file may have changed. The directory is watched, not the file: editors
 * replace the file, and container mounts replace a link. Returns the function that ends the watch.
 */
export function watchFile(file: string, clock: Clock, changed: () => void): () => void {
  let callOff = (): void => {};
  const touch = (_event: string, name: string | null): void => {
    if (name !== null && !names.has(name) && !name.startsWith("..")) return;
    callOff();
    callOff = clock.at(clock.now() + SETTLE_MS, changed);
  };
  const real = realPath(file);
  const names = new Set([basename(file), basename(real)]);
  const watchers = [...new Set([dirname(file), dirname(real)])].map((directory) =>
    watch(directory, touch),
  );
  for (const watcher of watchers) settle(watcher);
  return () => {
    callOff();
    for (const watcher of watchers) watcher.close();
  };
}

/** The watch keeps no process alive, and a directory that is removed ends no process. */
function settle(watcher: FSWatcher): void {
  watcher.unref();
  watcher.on("error", () => watcher.close());
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file; // The file may have been removed; its name is enough.
  }
}

/** A changed configuration that cannot be used; the running one stays. */
export type Rejected = NonNullable<ConsoleStatus["rejected"]>;

export type Reloader = {
  readonly reload: () => void;
  /** Undefined if the file was fine when it was last read. */
  readonly rejected: () => Rejected | undefined;
};

/** Applies a changed file. An invalid one is reported, and the running configuration stays. */
export function reloader(
  origin: ConfigOrigin,
  started: Config,
  gateway: Pick<Gateway, "reconfigure">,
  log: Pick<Logger, "report" | "note">,
): Reloader {
  const { host, port } = started.server;
  let rejected: Rejected | undefined;
  const refuse = (problems: readonly string[]): void => {
    const { since = Date.now() } = rejected ?? {};
    rejected = { file: origin.file, problems: [...problems], since };
    log.report({ type: "reload", ok: false, problems });
  };
  const accept = (): void => {
    rejected = undefined;
    log.report({ type: "reload", ok: true, problems: [] });
  };
  let running = JSON.stringify(started);
  const reload = (): void => {
    const loaded = loadConfig(origin);
    if (!loaded.ok) return refuse(loaded.findings.map(findingLine));
    const { config, blank } = loaded;
    if (blank) {
      const message = "is empty; write `{}` for a configuration without settings";
      return refuse([findingLine({ file: loaded.file, path: "", message })]);
    }
    const text = JSON.stringify(config);
    if (text === running) {
      if (rejected !== undefined) accept();
      return;
    }
    // The address changes only at a restart, so the key must fit the present one.
    const open = bindProblem(host, config.server.keys);
    if (open !== undefined) return refuse([open]);
    try {
      gateway.reconfigure(config);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return refuse([error.message]);
    }
    running = text;
    accept();
    if (config.server.host !== host || config.server.port !== port)
      log.note("changes of `server.host` and `server.port` apply after a restart");
  };
  return { reload, rejected: () => rejected };
}
