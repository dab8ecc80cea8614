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

/** A gateway with what is written of its turns. */
export type RecordedGateway = Gateway & {
  /** Records whole turns, where that is configured or asked for. */
  readonly recorder: Pick<BundleRecorder, "order" | "state" | "settled">;
};

const recorderFor = ({ clock, report, environment = {} }: Platform): BundleRecorder => {
  const folder = recordingsFolder(environment);
  return new BundleRecorder({ clock, report, environment, folder, foreign: foreignPlace });
};

/** A gateway whose turns are also written to the files that its configuration names. */
export function openRecorded(config: Config, given: Platform): RecordedGateway {
  const recorder = recorderFor(given);
  const platform = { ...given, recorder };
  const gateway = openGateway(config, platform);
  recorder.follow(config);
  const usage = lineFile(gateway, platform, "usage_log");
  const events = lineFile(gateway, platform, "event_log");
  const follow = (telemetry: Partial<Config["telemetry"]>): void => {
    usage(telemetry);
    events(telemetry);
  };
  follow(config.telemetry);
  const close = async (graceMs?: number): Promise<void> => {
    await gateway.close(graceMs);
    follow({});
    await recorder.settled();
  };
  return {
    ...gateway,
    recorder,
    reconfigure(next) {
      gateway.reconfigure(next);
      follow(next.telemetry);
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

/** To the end of a file, made if need be; a pipe is not waited for. */
const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;
const ADDING = O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY;

/** How often it is looked whether a file is still where it was. */
const LOOK_MS = 1000;

/**
 * Writes a file of lines about turns while the configuration names it. A path that cannot be written is reported once,
 * and no turn is the worse for it. A file that was moved away, as those who
 * rotate logs do, is begun anew.
 */
function lineFile(gateway: Gateway, { report, clock }: Platform, log: TurnLog) {
  const setting = `telemetry.${log}`;
  const { types, lines } = turnLogs[log];
  let path: string | undefined;
  let file: { readonly out: LineBuffer; readonly id: string | undefined } | undefined;
  let looked = 0;
  let leave = (): void => {};
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
    leave();
    file?.out.close();
    process.off("exit", flush);
    path = next;
    looked = clock.now();
    file = next === undefined ? undefined : open(next);
    if (file === undefined) return;
    process.on("exit", flush);
    leave = gateway.subscribe(add);
  };
  const hear = (happening: Happening): void => {
    if (path !== undefined && clock.now() - looked >= LOOK_MS) {
      looked = clock.now();
      if (fileAt(path) !== file?.id) change(path);
    }
    if (file === undefined) return;
    for (const line of lines(happening, clock.date())) file.out.add(`${JSON.stringify(line)}\n`);
  };
  const add = Object.assign(hear, { types });
  return (telemetry: Partial<Config["telemetry"]>): void => {
    const next = telemetry[log];
    // One that could not be opened may be by now.
    if (next !== path || file === undefined) change(next);
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
