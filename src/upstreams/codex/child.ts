import { spawn } from "node:child_process";
import { lineReader } from "./lines.ts";

export type ChildOptions = {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly onLine: (line: string) => void;
  /** Bytes on its standard error, or of a line that is too long to read. */
  readonly onNoise: (bytes: number) => void;
  /** Called once; the reason is fit for a log. */
  readonly onExit: (reason: string) => void;
};

export type Child = {
  readonly pid: number | undefined;
  send(line: string): void;
  /** Ends its input, at which it exits. */
  end(): void;
  kill(): void;
};

/** Tool results with images are whole lines, so lines may be long. */
const MAX_LINE = 64 * 1024 * 1024;

/** A child process that reads and writes lines. */
export function openChild(options: ChildOptions): Child {
  const child = spawn(options.file, options.arguments, {
    cwd: options.directory,
    env: options.environment,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let exited = false;
  const exit = (reason: string): void => {
    if (exited) return;
    exited = true;
    // A grandchild may have inherited the pipe, and would wait for its end.
    child.stdin.destroy();
    options.onExit(reason);
  };
  child.once("error", (error: NodeJS.ErrnoException) => exit(error.code ?? "error"));
  child.once("close", (code, signal) => exit(signal ?? `exit ${code ?? "unknown"}`));
  // A write to a child that has just died fails too; `close` reports it.
  child.stdin.on("error", () => {});
  child.stdout.on(
    "data",
    lineReader({
      longest: MAX_LINE,
      onLine: options.onLine,
      onSkipped: () => options.onNoise(MAX_LINE),
    }),
  );
  child.stderr.on("data", (chunk: Buffer) => options.onNoise(chunk.length));
  let unsent = "";
  // One write for all messages of one tick: the write costs more than the bytes.
  const write = (): void => {
    const lines = unsent;
    unsent = "";
    if (!exited) child.stdin.write(lines);
  };
  return {
    pid: child.pid,
    send(line) {
      if (unsent === "") queueMicrotask(write);
      unsent += `${line}\n`;
    },
    end: () => void (exited || child.stdin.end()),
    kill: () => void (exited || child.kill("SIGKILL")),
  };
}
