import { write, writeSync } from "node:fs";
import { framesOf } from "../gateway/trouble.ts";
import type { Happening, Report } from "../telemetry/happening.ts";
import { logFields } from "../telemetry/lines.ts";
import { logLevels, type LogLevel } from "./log-level.ts";

export type Log = {
  /** One line for one happening. */
  readonly report: Report;
  /** An error that no request caught. */
  readonly uncaught: (error: unknown) => void;
  readonly note: (text: string) => void;
  /** Writes out what is still held. */
  readonly flush: () => void;
};

/** Lines are gathered so long, or until there are so many: to write each by itself costs more than its turn. */
const GATHER_MS = 200;
const GATHER_TEXT = 65_536;
/** What a reader that does not keep up may leave unread; beyond it lines are lost, and counted. */
const MOST_TEXT = 8 * 1024 * 1024;

/**
 * JSON lines. Happenings hold neither content nor secrets, so nothing has to be
 * taken out of them; an unknown error may quote what it choked on, so only its
 * name and where it was raised are kept.
 */
export function openLog(level: LogLevel, descriptor = 2): Log {
  const out = gatheredWriter(descriptor);
  const least = logLevels.indexOf(level);
  const tells = (at: LogLevel): boolean => logLevels.indexOf(at) >= least;
  const line = (at: LogLevel, msg: string, fields: object): void => {
    if (!tells(at)) return;
    out.add(`${JSON.stringify({ time: new Date().toISOString(), level: at, msg, ...fields })}\n`);
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

/** Writes in the background, one write at a time, so that a slow reader holds up nobody. */
function gatheredWriter(descriptor: number): { add(line: string): void; flush(): void } {
  let text = "";
  let rest = Buffer.alloc(0);
  let writing = false;
  let lost = 0;

  const go = (): void => {
    if (writing || (text === "" && rest.length === 0)) return;
    if (rest.length === 0) {
      rest = Buffer.from(text);
      text = "";
    }
    writing = true;
    write(descriptor, rest, (error, written) => {
      writing = false;
      // EAGAIN: a pipe that is full just now. Anything else: nobody reads it any more.
      if (error === null) rest = rest.subarray(written);
      else if (error.code !== "EAGAIN") rest = Buffer.alloc(0);
      if (rest.length === 0 && text.length > GATHER_TEXT) go();
    });
  };
  setInterval(go, GATHER_MS).unref();

  return {
    add(line) {
      if (text.length > MOST_TEXT) {
        lost++;
        return;
      }
      if (lost > 0) text += `{"level":"warn","msg":"log lines lost","lines":${lost}}\n`;
      lost = 0;
      text += line;
      if (text.length > GATHER_TEXT) go();
    },
    flush() {
      try {
        // What is being written is on its way.
        writeSync(descriptor, Buffer.concat([...(writing ? [] : [rest]), Buffer.from(text)]));
      } catch {
        // Nothing can be said where even the log is gone.
      }
      rest = Buffer.alloc(0);
      text = "";
    },
  };
}

function levelOf(happening: Happening): LogLevel {
  switch (happening.type) {
    case "begun":
      return "debug";
    case "turn":
      return happening.outcome === "failed" ? "warn" : "info";
    case "reload":
      return happening.ok ? "info" : "error";
    case "fallback":
      return "warn";
    case "refusal":
      return happening.status >= 500 ? "warn" : "info";
    case "child":
      return childLevels[happening.event] ?? "warn";
    case "trouble":
      return "error";
    default:
      return happening satisfies never;
  }
}

const childLevels: Readonly<Record<string, LogLevel>> = { started: "info", noise: "debug" };

function errorFields(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { name: typeof error };
  const { code } = error as NodeJS.ErrnoException;
  return { name: error.name, ...(typeof code === "string" && { code }), frames: framesOf(error) };
}
