import { setFlagsFromString } from "node:v8";
import { systemClock } from "../clock.ts";
import { findingLine } from "../config-file.ts";
import { environment } from "../env.ts";
import { loadConfig, type Origin } from "../load.ts";
import type { LogLevel } from "../log-level.ts";
import { openLog, type Log } from "../log.ts";
import { machineParts } from "../parts.ts";
import { reloader, watchFile } from "../reload.ts";
import { openServer, type Server } from "../server.ts";
import { openRecorded } from "../turn-files.ts";

export type ServeOptions = {
  readonly config?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly logLevel: LogLevel;
};

/** `patchbay serve`: runs until it is told to stop. */
export async function serve({ config: file, host, port, logLevel }: ServeOptions): Promise<void> {
  // Left to itself V8 lets more garbage gather than the gateway has in use.
  setFlagsFromString("--heap-growing-percent=20");
  const origin: Origin = { file, host, port, env: environment(), directory: process.cwd() };
  const loaded = loadConfig(origin);
  for (const note of loaded.notes) console.error(note);
  if (!loaded.ok) {
    for (const finding of loaded.findings) console.error(findingLine(finding));
    process.exitCode = 1;
    return;
  }
  const { config } = loaded;
  const log = openLog(logLevel);
  const gateway = openRecorded(config, machineParts(log.report));
  const server = await openServer(gateway, config.server);
  console.log(
    `Patchbay listens on ${server.url} (upstreams: ${Object.keys(config.upstreams).join(", ")})`,
  );
  keepServing(log);
  stopOnSignals(server, config.server.shutdown_grace_ms, log);
  const takeUp = reloader({ ...origin, file: loaded.file }, config, gateway, log);
  for (const path of loaded.files) watchFile(path, systemClock, takeUp);
}

/** One request's error must not end the others: it is logged, and serving goes on. */
function keepServing(log: Log): void {
  process.on("uncaughtException", log.uncaught);
  process.on("unhandledRejection", log.uncaught);
  process.on("exit", log.flush);
}

/** The first signal lets running streams end; the second does not wait. */
function stopOnSignals(server: Server, graceMs: number, log: Log): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1);
    stopping = true;
    log.note(`stopping on ${signal}`);
    server.close(graceMs).then(
      () => process.exit(0),
      (error: unknown) => {
        log.uncaught(error);
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}
