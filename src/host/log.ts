import { destination, pino, type Logger } from "pino";
import type { Happening, Report } from "../telemetry/happening.ts";
import type { LogLevel } from "./log-level.ts";

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
  // Gathered and written in the background: a write for each turn costs more than the turn's line.
  const out = destination({ dest: descriptor, sync: false, minLength: 32_768, maxWrite: 65_536 });
  const log = pino({ level, base: null, timestamp }, out);
  setInterval(() => out.flush(), FLUSH_MS).unref();
  return {
    report: (happening) => write(log, happening),
    uncaught: (error) => log.error(errorFields(error), "uncaught"),
    note: (text) => log.info(text),
    flush() {
      try {
        out.flushSync();
      } catch {
        // Nothing can be said where even the log is gone.
      }
    },
  };
}

const FLUSH_MS = 200;

const timestamp = (): string => `,"time":"${new Date().toISOString()}"`;

function write(log: Logger, happening: Happening): void {
  const { type, ...fields } = happening;
  log[levelOf(happening)](fields, type);
}

function levelOf(happening: Happening): "info" | "warn" | "error" {
  switch (happening.type) {
    case "turn":
      return happening.outcome === "failed" ? "warn" : "info";
    case "reload":
      return happening.ok ? "info" : "error";
    case "fallback":
      return "warn";
    case "refusal":
      return happening.status >= 500 ? "warn" : "info";
    case "trouble":
      return "error";
    default:
      return happening satisfies never;
  }
}

function errorFields(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { name: typeof error };
  const frames = error.stack
    ?.split("\n")
    .filter((line) => line.startsWith("    at "))
    .map((line) => line.trim());
  const { code } = error as NodeJS.ErrnoException;
  return { name: error.name, ...(typeof code === "string" && { code }), frames };
}
