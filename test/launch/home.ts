/** Homes for tests of `patchbay launch`, with programs on PATH. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { runCommand } from "../support/command.ts";
import { compileCache } from "../support/compile-cache.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const cli = join(root, "cli/cli.ts");
export const programs = join(root, "node_modules/.bin");

export type Home = Disposable & {
  readonly path: string;
  /** Further variables for the programs that run in it. */
  readonly env: Record<string, string>;
  /** Writes a file and gives a way to read it again. */
  write(name: string, content: string): () => string;
  /** Puts a program of ours on PATH. */
  program(name: string, source: string): void;
  /** What the launch has left in the folder for temporary files. */
  left(): readonly string[];
};

/** Answers `--version`. */
export const version = (number: string): string =>
  `if (process.argv[2] === "--version") { console.log("${number}"); process.exit(0); }\n`;

export function homeFolder(): Home {
  const path = mkdtempSync(join(tmpdir(), "patchbay-launch-test-"));
  for (const folder of ["work", "bin", "tmp"]) mkdirSync(join(path, folder));
  const write: Home["write"] = (name, content) => {
    const file = join(path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, { mode: 0o700 });
    return () => readFileSync(file, "utf8");
  };
  return {
    path,
    env: {},
    write,
    program: (name, source) =>
      void write(`bin/${name}`, `#!${process.execPath}\n${version("1.35.0")}${source}`),
    left: () => readdirSync(join(path, "tmp")).filter((name) => name.startsWith("patchbay-launch")),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Runs `patchbay launch` in a home. */
export const launching = (home: Home, args: readonly string[]) =>
  running(home, [process.execPath, cli, "launch", ...args]);

const environmentIn = ({ path, env }: Home) => ({
  ...compileCache,
  PATH: [join(path, "bin"), programs, process.env["PATH"]].join(delimiter),
  HOME: path,
  CODEX_HOME: join(path, ".codex"),
  XDG_STATE_HOME: join(path, "state"),
  TMPDIR: join(path, "tmp"),
  ...env,
});

/** Runs a program in a home, with its own programs and those of the project on PATH. */
export function running(home: Home, [program = "", ...args]: readonly string[]) {
  const child = spawn(program, args, {
    cwd: join(home.path, "work"),
    env: environmentIn(home),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = async (): Promise<{ code: number | null; out: string; errors: string }> => {
    const [out, errors, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close") as Promise<[number | null]>,
    ]);
    return { code, out, errors };
  };
  return { child, ended: ended() };
}
export const launch = (home: Home, ...args: string[]) => launching(home, args).ended;
/** The same in this process, for a launch whose agent prints nothing. */
export const prepare = (home: Home, ...args: string[]) =>
  runCommand(["launch", ...args], {
    directory: join(home.path, "work"),
    env: environmentIn(home),
  });
