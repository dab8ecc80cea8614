import { isatty } from "node:tty";
import { setFlagsFromString } from "node:v8";
import {
  type Config,
  findingLine,
  loadConfig,
  type LoadedConfig,
  notesOf,
  type ConfigOrigin,
  reloader,
  sourceNote,
  trustFile,
  watchFile,
} from "../../src/configuration.ts";
import {
  type Logger,
  nodePlatform,
  openLog,
  openRecorded,
  openServer,
  operate,
  type Server,
  systemClock,
} from "../../src/serving.ts";
import {
  environment,
  type Environment,
  isByNpx,
  print,
  printError,
  recordingsFolder,
} from "../../src/terminal.ts";
import { doctorRoutes } from "../doctor/routes.ts";
import {
  isWorker,
  leaveChannel,
  runWorkers,
  shareMetrics,
  type WorkersOptions,
  workersProblem,
} from "../workers.ts";
import { recordedTurns } from "../output.ts";
import type { With } from "../options.ts";

/** `patchbay serve`: runs a gateway until a signal ends it. */
export async function serve(options: With<"logLevel">): Promise<void> {
  try {
    await start(options);
  } finally {
    if (isWorker()) leaveChannel();
  }
}

async function start(options: With<"logLevel">): Promise<void> {
  const env = environment();
  const { config: file, host, port, withParent = isByNpx(env), workers = 1, logLevel } = options;
  const parent = withParent ? process.ppid : undefined;
  // V8 collects the old generation when it has doubled. Without the second flag V8 allocates
  // objects of a turn directly in the old generation after a busy moment.
  setFlagsFromString("--heap-growing-percent=100");
  setFlagsFromString("--no-allocation-site-pretenuring");
  // V8 returns freed pages after a second in place of eight. Node 24 does not know the flag.
  if (parseInt(process.versions.node) > 24) setFlagsFromString("--memory-pool-timeout=1");
  const origin: ConfigOrigin = { file, host, port, env, directory: process.cwd() };
  const loaded = loadConfig(origin);
  if (!isWorker()) for (const note of notesOf(loaded)) printError(note);
  if (!loaded.ok) {
    printError([...loaded.findings, ...loaded.doubts].map(findingLine));
    process.exitCode = 1;
    return;
  }
  const { config } = loaded;
  const log = openLog(logLevel);
  const say = (url: string): void => {
    print(`Patchbay listens on ${url} (upstreams: ${Object.keys(config.upstreams).join(", ")})`);
    for (const note of sourceNote(loaded)) print(note);
    const recording = recordingLine(config, env);
    if (recording !== undefined) print(recording);
  };
  if (workers > 1 && !isWorker())
    return serveByWorkers(config, { count: workers, log, listening: say });
  const shared = isWorker() ? shareMetrics(() => gateway.metricsText()) : undefined;
  const gateway: ReturnType<typeof openRecorded> = openRecorded(config, {
    ...nodePlatform(log.report),
    sumMetrics: shared?.sum,
  });
  if (shared !== undefined) gateway.subscribe(shared.changed);
  const server = await openServer(gateway, config.server);
  keepServing(log);
  gateway.start();
  const { files, keys } = loaded;
  const { reload, rejected } = reloader(loaded.again, config, gateway, log);
  const group = isWorker() ? process.ppid : process.pid;
  const control = await operate(gateway, {
    url: server.url,
    files,
    keys,
    group,
    workers,
    env,
    report: log.report,
    rejected,
    routes: doctorRoutes(gateway, loaded.again),
  });
  if (control.problem !== undefined) printError(control.problem);
  const stop = stopper(server, log);
  process.on("SIGTERM", stop.heed);
  // A terminal sends this to all processes; the primary passes it to its workers as SIGTERM.
  process.on("SIGINT", isWorker() ? () => {} : stop.heed);
  if (parent !== undefined) stopWithParent(stop, parent);
  for (const path of watchedFiles(loaded)) watchFile(path, systemClock, reload);
  // A terminal sends it when it closes; operators send it to a service to reload its file.
  const isService = ![0, 1, 2].some(isatty);
  process.on("SIGHUP", isService ? reload : stop.heed);
  if (!isWorker()) say(server.url);
}

/** The files of the configuration and, if it needs trust, the record of that trust. */
function watchedFiles({ files, again }: LoadedConfig & { readonly ok: true }): readonly string[] {
  const { file, needsTrust = false, env } = again;
  const trusted = needsTrust && file !== undefined ? trustFile(file, env) : undefined;
  return trusted === undefined ? files : [...files, trusted];
}

function recordingLine(
  { telemetry, recording: { content, folder } }: Config,
  env: Environment,
): string | undefined {
  const { recording: mode } = telemetry;
  if (mode === "off") return undefined;
  return `Recording ${recordedTurns[mode]}, ${content}, to ${folder ?? recordingsFolder(env)}`;
}

async function serveByWorkers(
  { store, server }: Config,
  options: Omit<WorkersOptions, "address">,
): Promise<void> {
  const problem = workersProblem(store);
  if (problem === undefined) return runWorkers({ ...options, address: server });
  printError(problem);
  process.exitCode = 1;
}

/** Logs uncaught errors, because an error in one request must not end the others. */
function keepServing(log: Logger): void {
  process.on("uncaughtException", log.uncaught);
  process.on("unhandledRejection", log.uncaught);
  process.on("exit", log.flush);
}

type Stopper = {
  readonly stop: (why: string) => void;
  /** The first signal lets running streams end; the second does not wait. */
  readonly heed: (signal: NodeJS.Signals) => void;
};

/** Lets running streams end, and then the process. */
function stopper(server: Server, log: Logger): Stopper {
  let stopping = false;
  const stop = (why: string): void => {
    if (stopping) return;
    stopping = true;
    log.note(`stopping ${why}`);
    server.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.uncaught(error);
        process.exit(1);
      },
    );
  };
  const heed = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1);
    stop(`on ${signal}`);
  };
  return { stop, heed };
}

/** A shell that ends sends no signal, but the process gets another parent. */
function stopWithParent({ stop }: Stopper, parent: number): void {
  const look = (): void => {
    if (process.ppid !== parent) stop("with its parent");
  };
  setInterval(look, LOOK_MS).unref();
}

const LOOK_MS = 250;
