import { accessSync, constants, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { Config } from "../../gateway/config.ts";
import { openGateway, type Gateway } from "../../gateway/gateway.ts";
import type { Platform } from "../../gateway/platform.ts";
import { writeProblem, writeProblems } from "../../diagnostics/write-problem.ts";
import type { Happening } from "../../observe/happening.ts";
import { turnLogs, type TurnLog } from "../../observe/lines.ts";
import { makeFolder } from "../../upstreams/folder.ts";
import { BundleRecorder } from "../../observe/recording/recorder.ts";
import { recordingsFolder } from "../config/user-folders.ts";
import { foreignPlace } from "../platform/careful-files.ts";
import { LineBuffer } from "./line-buffer.ts";

/** A gateway that also writes its turns to files. */
export type RecordedGateway = Gateway & {
  /** Records whole turns, if the configuration or an operator asks for it. */
  readonly recorder: Pick<BundleRecorder, "order" | "state" | "settled">;
};

/** Opens a gateway, and writes its turns to the files that its configuration names. */
export function openRecorded(config: Config, given: Platform): RecordedGateway {
  const { clock, report, environment = {} } = given;
  const folder = recordingsFolder(environment);
  const recorder = new BundleRecorder({
    clock,
    report,
    environment,
    folder,
    foreign: foreignPlace,
  });
  const gateway = openGateway(config, { ...given, recorder });
  const usage = lineFile(gateway, given, "usage_log");
  const events = lineFile(gateway, given, "event_log");
  const follow = (telemetry: Partial<Config["telemetry"]>): void => {
    usage(telemetry);
    events(telemetry);
  };
  recorder.follow(config);
  follow(config.telemetry);
  const close = async (graceMs?: number): Promise<void> => {
    await gateway.close(graceMs);
    follow({});
    await recorder.settled();
  };
  // Inherits the rest, because a copy would fix the values of its getters.
  return Object.assign(Object.create(gateway) as Gateway, {
    recorder,
    reconfigure(next: Config) {
      gateway.reconfigure(next);
      follow(next.telemetry);
      recorder.follow(next);
    },
    close,
    [Symbol.asyncDispose]: () => close(),
  });
}

/** Appends to a file and makes it if it is missing; a pipe is not waited for. */
const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;
const APPENDING = O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY;

/** Milliseconds between two checks that the file is still at its path. */
const LOOK_MS = 1000;

/**
 * Writes a file of lines about turns while the configuration names it. A path that cannot be
 * written is reported once, and turns are served as before. After a file was moved away, as by
 * the rotation of logs, a new one is made.
 */
function lineFile(gateway: Gateway, { report, clock }: Platform, log: TurnLog) {
  const setting = `telemetry.${log}`;
  const { types, lines } = turnLogs[log];
  let path: string | undefined;
  let file: { readonly out: LineBuffer; readonly id: string | undefined } | undefined;
  let lookedMs = 0;
  let unsubscribe = (): void => {};
  const flush = (): void => file?.out.flush();
  const open = (at: string): typeof file => {
    let isReported = false;
    const failed = (error: unknown): void => {
      const problem = writeProblem(error);
      if (!isReported) report({ type: "unwritable", setting, path: at, problem });
      isReported = true;
    };
    try {
      makeFolder(dirname(at));
      return { out: new LineBuffer(openSync(at, APPENDING), failed), id: fileAt(at) };
    } catch (error) {
      failed(error);
      return undefined;
    }
  };
  const change = (next: string | undefined): void => {
    unsubscribe();
    file?.out.close();
    process.off("exit", flush);
    path = next;
    lookedMs = clock.now();
    file = next === undefined ? undefined : open(next);
    if (file === undefined) return;
    process.on("exit", flush);
    unsubscribe = gateway.subscribe(add);
  };
  const write = (happening: Happening): void => {
    if (path !== undefined && clock.now() - lookedMs >= LOOK_MS) {
      lookedMs = clock.now();
      if (fileAt(path) !== file?.id) change(path);
    }
    if (file === undefined) return;
    for (const line of lines(happening, clock.date())) file.out.add(`${JSON.stringify(line)}\n`);
  };
  const add = Object.assign(write, { types });
  return (telemetry: Partial<Config["telemetry"]>): void => {
    const next = telemetry[log];
    // A file that could not be opened is tried again.
    if (next !== path || file === undefined) change(next);
  };
}

/** Identifies the file at a path; undefined if this user can see none. */
function fileAt(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}

/** The reason why a file could not be appended to, found without making anything. */
export function unwritable(path: string): string | undefined {
  try {
    const existing = nearestExisting(path);
    const isWhole = existing === path;
    if (statSync(existing).isDirectory() === isWhole)
      return writeProblems[isWhole ? "EISDIR" : "ENOTDIR"];
    accessSync(existing, isWhole ? constants.W_OK : constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return writeProblem(error);
  }
}

/** The path, or the nearest folder above it that exists. */
function nearestExisting(path: string): string {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return path;
  const above = dirname(path);
  return above === path ? path : nearestExisting(above);
}
