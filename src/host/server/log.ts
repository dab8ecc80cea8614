/** Writes the log as JSON lines. */

import { framesOf } from "../../gateway/http/to-fault.ts";
import type { Happening, Report, StoreNotice } from "../../observe/happening.ts";
import { logFields } from "../../observe/lines.ts";
import { printable } from "../platform/print.ts";
import { LineBuffer } from "./line-buffer.ts";
import { logLevels, type LogLevel } from "../config/log-level.ts";

export type Log = {
  /** One line for one happening. */
  readonly report: Report;
  /** An error that no request caught. */
  readonly uncaught: (error: unknown) => void;
  readonly note: (text: string) => void;
  /** Writes out what is still held. */
  readonly flush: () => void;
};

/**
 * JSON lines. Happenings hold neither content nor secrets, so nothing has to be
 * taken out of them; an unknown error may quote what it choked on, so only its
 * name and where it was raised are kept.
 */
export function openLog(level: LogLevel, descriptor = 2): Log {
  const out = new LineBuffer(descriptor);
  const least = logLevels.indexOf(level);
  const tells = (at: LogLevel): boolean => logLevels.indexOf(at) >= least;
  const line = (at: LogLevel, msg: string, fields: object): void => {
    if (!tells(at)) return;
    const head = JSON.stringify({ time: new Date().toISOString(), level: at, msg });
    const rest = JSON.stringify(fields);
    // To copy the fields into one object with the head would cost more than to write them.
    const text = `${head.slice(0, -1)}${rest === "{}" ? "" : ","}${rest.slice(1)}`;
    // JSON leaves C1 controls and marks of direction as they are.
    out.add(`${printable(text)}\n`);
  };
  return {
    report(happening) {
      const at = levelOf(happening);
      if (!tells(at)) return;
      if (happening.type === "turn") return line(at, "turn", logFields(happening));
      const { type, ...fields } = happening;
      line(at, type, fields);
    },
    uncaught: (error) => line("error", "uncaught", errorFields(error)),
    note: (text) => line("info", text, {}),
    flush: () => out.flush(),
  };
}

function levelOf(happening: Happening): LogLevel {
  switch (happening.type) {
    case "begun":
    case "round":
    case "step":
    case "attempt":
    case "call":
      return "debug";
    case "turn":
      return happening.outcome === "failed" ? "warn" : "info";
    case "reload":
      return happening.ok ? "info" : "error";
    case "fallback":
    case "blocked":
      return "warn";
    case "refusal":
      return happening.status >= 500 ? "warn" : "info";
    case "store":
      return storeLevels[happening.event] ?? "error";
    case "child":
      return childLevels[happening.event] ?? "warn";
    case "trouble":
    case "unwritable":
      return "error";
    default:
      return happening satisfies never;
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
