/** Writes the log as JSON lines. */

import { framesOf } from "../../gateway/http/to-fault.ts";
import type {
  Happening,
  HappeningType,
  Report,
  StoreNotice,
  TurnDone,
} from "../../observe/happening.ts";
import { mainTypes } from "../../observe/bus.ts";
import { turnFields } from "../../observe/lines.ts";
import { printableJson } from "../platform/print.ts";
import { LineBuffer } from "./line-buffer.ts";
import { logLevels, type LogLevel } from "../config/log-level.ts";

export type Logger = {
  /** One line for one happening. */
  readonly report: Report;
  /** An error that no request caught. */
  readonly uncaught: (error: unknown) => void;
  readonly note: (text: string) => void;
  /** Writes out all lines. */
  readonly flush: () => void;
};

/**
 * Writes JSON lines. Happenings hold neither content nor secrets. An unknown error may quote its
 * input, so only its name and frames are logged.
 */
export function openLog(level: LogLevel, descriptor = 2): Logger {
  const out = new LineBuffer(descriptor);
  const least = logLevels.indexOf(level);
  const isLogged = (at: LogLevel): boolean => logLevels.indexOf(at) >= least;
  /** `fields`: the text of an object without its braces. */
  const write = (at: LogLevel, msg: string, fields: string): void => {
    const rest = fields === "" ? "" : `,${fields}`;
    out.add(`{"time":"${new Date().toISOString()}","level":"${at}","msg":${msg}${rest}}\n`);
  };
  const line = (at: LogLevel, msg: string, fields: object): void => {
    if (isLogged(at)) write(at, printableJson(msg), printableJson(fields).slice(1, -1));
  };
  const report = (happening: Happening): void => {
    if (happening.type === "turn") {
      const at = happening.outcome === "failed" ? "warn" : "info";
      if (isLogged(at)) write(at, `"turn"`, turnFields(happening, printableJson));
      return;
    }
    const { type, ...fields } = happening;
    line(levelOf(happening), type, fields);
  };
  return {
    report: Object.assign(report, { types: level === "debug" ? undefined : loggedTypes }),
    uncaught: (error) => line("error", "uncaught", errorFields(error)),
    note: (text) => line("info", text, {}),
    flush: () => out.flush(),
  };
}

/** The happenings above the level `debug`. */
const loggedTypes = mainTypes.filter((type) => type !== "begun" && type !== "round");

const levels = {
  begun: "debug",
  round: "debug",
  step: "debug",
  attempt: "debug",
  call: "debug",
  fallback: "warn",
  blocked: "warn",
  trouble: "error",
  unwritable: "error",
} as const satisfies Partial<Record<HappeningType, LogLevel>>;

function levelOf(happening: Exclude<Happening, TurnDone>): LogLevel {
  switch (happening.type) {
    case "reload":
      return happening.ok ? "info" : "error";
    case "refusal":
      return happening.status >= 500 ? "warn" : "info";
    case "store":
      return storeLevels[happening.event] ?? "error";
    case "child":
      return childLevels[happening.event] ?? "warn";
    default:
      return levels[happening.type];
  }
}

const storeLevels: Readonly<Partial<Record<StoreNotice["event"], LogLevel>>> = {
  available: "info",
  waits: "warn",
};

const childLevels: Readonly<Record<string, LogLevel>> = {
  started: "info",
  limits: "info",
  noise: "debug",
};

function errorFields(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { name: typeof error };
  const { code } = error as NodeJS.ErrnoException;
  return { name: error.name, ...(typeof code === "string" && { code }), frames: framesOf(error) };
}
