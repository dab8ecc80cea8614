import { spawn } from "node:child_process";
import { lineReader } from "./lines.ts";

export type ChildOptions = {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly line: (line: string) => void;
  /** It wrote to its standard error, or a line too long to be read. */
  readonly noise: (bytes: number) => void;
  /** Called once; `why` is fit for a log. */
  readonly gone: (why: string) => void;
};

export type Child = {
  readonly pid: number | undefined;
  send(line: string): void;
  /** Lets it end by itself: it does when its input ends. */
  end(): void;
  kill(): void;
};

/** Tool results with images are whole lines, so lines may be long. */
const LONGEST = 64 * 1024 * 1024;

/** A child process that speaks in lines. */
export function openChild(options: ChildOptions): Child {
  const child = spawn(options.file, options.arguments, {
    cwd: options.directory,
    env: options.environment,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let over = false;
  const gone = (why: string): void => {
    if (over) return;
    over = true;
    // A grandchild that outlives the child sees its input end.
    child.stdin.destroy();
    options.gone(why);
  };
  child.once("error", (error: NodeJS.ErrnoException) => gone(error.code ?? "error"));
  child.once("close", (code, signal) => gone(signal ?? `exit ${code ?? "unknown"}`));
  // A write to a child that has just died; that it died is told by `close`.
  child.stdin.on("error", () => {});
  child.stdout.on(
    "data",
    lineReader({
      longest: LONGEST,
      each: options.line,
      skipped: () => options.noise(LONGEST),
    }),
  );
  child.stderr.on("data", (chunk: Buffer) => options.noise(chunk.length));
  let unsent = "";
  // One write for all that one read brought about: a write costs more than what it says.
  const write = (): void => {
    const lines = unsent;
    unsent = "";
    if (!over) child.stdin.write(lines);
  };
  return {
    pid: child.pid,
    send(line) {
      if (unsent === "") queueMicrotask(write);
      unsent += `${line}\n`;
    },
    end: () => void (over || child.stdin.end()),
    kill: () => void (over || child.kill("SIGKILL")),
  };
}
