import { accessSync, constants, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { Config } from "../../gateway/config.ts";
import { openGateway, type Gateway } from "../../gateway/gateway.ts";
import type { Platform } from "../../gateway/platform.ts";
import { writeProblem, writeProblems } from "../../diagnostics/write-problem.ts";
import type { Clock } from "../../turn/clock.ts";
import type { Happening, Report } from "../../observe/happening.ts";
import { eventLines, usageLine, type Line } from "../../observe/lines.ts";
import { makeFolder } from "../../upstreams/folder.ts";
import { openRecorder, type OpenRecorder } from "../../observe/recording/recorder.ts";
import { recordingsFolder } from "../config/user-folders.ts";
import { foreignPlace } from "../platform/careful-files.ts";
import { LineBuffer } from "./line-buffer.ts";

/** A gateway with what is written of its turns. */
export type RecordedGateway = Gateway & {
  /** Records whole turns, where that is configured or asked for. */
  readonly recorder: Omit<OpenRecorder, "begin" | "follow">;
};

const recorderFor = ({ clock, report, environment = {} }: Platform): OpenRecorder => {
  const folder = recordingsFolder(environment);
  return openRecorder({ clock, report, environment, folder, foreign: foreignPlace });
};

/** A gateway whose turns are also written to the files that its configuration names. */
export function openRecorded(config: Config, given: Platform): RecordedGateway {
  const recorder = recorderFor(given);
  const platform = { ...given, recorder };
  const files = turnFiles(platform.report, platform.clock);
  const gateway = openGateway(config, platform);
  recorder.follow(config);
  gateway.subscribe((happening) => files.hear(happening));
  files.follow(config.telemetry);
  const close = async (graceMs?: number): Promise<void> => {
    await gateway.close(graceMs);
    files.follow({});
    await recorder.settled();
  };
  return {
    ...gateway,
    recorder,
    reconfigure(next) {
      gateway.reconfigure(next);
      files.follow(next.telemetry);
      recorder.follow(next);
    },
    close,
    [Symbol.asyncDispose]: () => close(),
    get bodyLimit() {
      return gateway.bodyLimit;
    },
    get stallMs() {
      return gateway.stallMs;
    },
    get graceMs() {
      return gateway.graceMs;
    },
  };
}

type Paths = Partial<Config["telemetry"]>;

/** The usage log and the event log, each only while the configuration names it. */
function turnFiles(report: Report, clock: Clock) {
  const usage = lineFile("telemetry.usage_log", report, clock);
  const events = lineFile("telemetry.event_log", report, clock);
  return {
    hear(happening: Happening): void {
      if (happening.type === "turn") usage.add(() => [usageLine(happening)]);
      events.add(() => eventLines(happening, clock.date()));
    },
    follow({ usage_log, event_log }: Paths): void {
      usage.follow(usage_log);
      events.follow(event_log);
    },
  };
}

/** To the end of a file, made if need be; a pipe is not waited for. */
const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;
const ADDING = O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY;

/** How often it is looked whether a file is still where it was. */
const LOOK_MS = 1000;

/**
 * A file that lines are added to. A path that cannot be written is reported once,
 * and no turn is the worse for it. A file that was moved away, as those who
 * rotate logs do, is begun anew.
 */
function lineFile(setting: string, report: Report, clock: Clock) {
  let path: string | undefined;
  let file: { readonly out: LineBuffer; readonly id: string | undefined } | undefined;
  let looked = 0;
  const flush = (): void => file?.out.flush();
  const open = (at: string): typeof file => {
    let reported = false;
    const tell = (error: unknown): void => {
      if (!reported)
        report({ type: "unwritable", setting, path: at, problem: writeProblem(error) });
      reported = true;
    };
    try {
      makeFolder(dirname(at));
      const descriptor = openSync(at, ADDING);
      return { out: new LineBuffer(descriptor, tell), id: fileAt(at) };
    } catch (error) {
      tell(error);
      return undefined;
    }
  };
  const change = (next: string | undefined): void => {
    file?.out.close();
    process.off("exit", flush);
    path = next;
    looked = clock.now();
    file = next === undefined ? undefined : open(next);
    if (file !== undefined) process.on("exit", flush);
  };
  const look = (): void => {
    if (path === undefined || file === undefined || clock.now() - looked < LOOK_MS) return;
    looked = clock.now();
    if (fileAt(path) !== file.id) change(path);
  };
  return {
    /** Nothing is made of what nobody reads. */
    add(lines: () => readonly Line[]): void {
      look();
      if (file !== undefined) for (const line of lines()) file.out.add(`${JSON.stringify(line)}\n`);
    },
    follow(next: string | undefined): void {
      // One that could not be opened may be by now.
      if (next !== path || file === undefined) change(next);
    },
  };
}

/** Which file is at a path; none where nobody may know. */
function fileAt(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}

/** Why a file could not be added to, found without making anything. */
export function unwritable(path: string): string | undefined {
  try {
    const there = nearestThere(path);
    const isWhole = there === path;
    if (statSync(there).isDirectory() === isWhole)
      return writeProblems[isWhole ? "EISDIR" : "ENOTDIR"];
    accessSync(there, isWhole ? constants.W_OK : constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return writeProblem(error);
  }
}

/** The path, or the last part of it that there is. */
function nearestThere(path: string): string {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return path;
  const above = dirname(path);
  return above === path ? path : nearestThere(above);
}
