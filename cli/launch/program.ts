import { execFile, spawn } from "node:child_process";
import { constants, tmpdir } from "node:os";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  linkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import {
  type Environment,
  fieldsIn,
  filledText,
  foreignFolder,
  isAlive,
  refusal,
  stateFolder,
} from "../../src/terminal.ts";
import type { LaunchAgent, Output, Pointing } from "./agent.ts";
import { writeOrRefuse } from "./keep/keep.ts";

/** The output of an agent that runs with some arguments; empty if it fails. */
export const outputOf =
  (file: string, env: Environment): Output =>
  (args, limitMs = 10_000) =>
    new Promise((resolve) => {
      const options = {
        env,
        timeout: limitMs,
        killSignal: "SIGKILL",
        maxBuffer: 32 * 1024 * 1024,
        shell: onWindows,
      } as const;
      execFile(file, [...args], options, (error, stdout) => resolve(error === null ? stdout : ""));
    });

/** On Windows npm installs programs as scripts, which need a shell. */
const onWindows = process.platform === "win32";

/** Signals to pass on. A terminal sends its interrupt to the agent itself. */
const passedOn = ["SIGTERM", "SIGHUP"] as const;

/** Runs an agent in this terminal to its end and gives its exit code, as a shell would. */
export function runProgram(
  file: string,
  args: readonly string[],
  env: Environment,
): Promise<number> {
  const child = spawn(file, [...args], { stdio: "inherit", env, shell: onWindows });
  const wait = (): void => {}; // The agent handles the interrupt.
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on("SIGINT", wait);
  for (const signal of passedOn) process.on(signal, pass);
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", (error) => reject(refusal(`${file} does not start: ${error.message}.`)));
    child.once("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 1 : constants.signals[signal])),
    );
  });
  return ended.finally(() => {
    process.off("SIGINT", wait);
    for (const signal of passedOn) process.off(signal, pass);
  });
}

/** The time for an agent to print its version: some take seconds to start. */
const PATIENCE_MS = 2000;

/** A note on an agent of another version than the tried one; undefined if the versions match or its version is unknown. */
export async function versionNote(
  agent: LaunchAgent,
  file: string,
  output: Output,
): Promise<string | undefined> {
  const said = packageVersion(file) ?? (await output(["--version"], PATIENCE_MS));
  const [tried, found] = [numbersIn(agent.tried), numbersIn(said)];
  const [major = 0, minor = 0] = found;
  const [triedMajor = major, triedMinor = minor] = tried;
  // A third number is for repairs.
  const order = major - triedMajor || minor - triedMinor;
  if (found.length === 0 || order === 0) return undefined;
  return `${agent.title} ${found.join(".")} is ${order > 0 ? "newer" : "older"} than ${agent.tried}, the tested version. The last line reports if it sends no request to this gateway.`;
}

/** The version of an npm package, read without starting the agent. */
function packageVersion(file: string): string | undefined {
  try {
    const [root] =
      /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(realpathSync(file)) ?? [];
    if (root === undefined) return undefined;
    return filledText(fieldsIn(readFileSync(join(root, "package.json"), "utf8"))?.version);
  } catch {
    return undefined; // Then the agent itself is asked.
  }
}

const numbersIn = (text: string): readonly number[] =>
  /\d+(?:\.\d+)+/.exec(text)?.[0].split(".").map(Number) ?? [];

const PREFIX = "patchbay-launch-";

type PrivateFolder = Disposable & {
  readonly path: string;
  /** Writes the files and the links of a pointing into the folder. */
  write(pointing: Pick<Pointing, "files" | "links" | "folders">): void;
};

/** A folder for one launch that only this user can read; it is removed at the end. */
export function privateFolder(): PrivateFolder {
  const parent = tmpdir();
  const path = writeOrRefuse(parent, () => {
    sweep(parent);
    return mkdtempSync(join(parent, `${PREFIX}${process.pid}-`));
  });
  return {
    path,
    write({ files = {}, links = {}, folders = [] }) {
      for (const folder of folders) makePrivate(folder);
      const placeOf = (name: string): string => {
        const place = join(path, name);
        makePrivate(dirname(place));
        return place;
      };
      for (const [name, text] of Object.entries(files))
        writeFileSync(placeOf(name), text, { mode: 0o600 });
      for (const [name, target] of Object.entries(links)) link(target, placeOf(name));
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

const makePrivate = (folder: string): void =>
  writeOrRefuse(folder, () => void mkdirSync(folder, { recursive: true, mode: 0o700 }));

/** On Windows a user may make links to folders, and to files only of the same drive. */
function link(target: string, place: string): void {
  const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory() === true;
  try {
    symlinkSync(target, place, isFolder ? "junction" : "file");
  } catch (error) {
    if (!onWindows) throw error;
    if (existsSync(target)) linkSync(target, place);
  }
}

/** The folder for what an agent keeps between its launches; undefined for a user without a home. */
export function lastingFolder({ name }: LaunchAgent, env: Environment): string | undefined {
  const state = stateFolder(env);
  if (state === undefined) return undefined;
  const folder = join(state, "agents", name);
  const problem = foreignFolder(folder);
  if (problem === undefined) return folder;
  throw refusal(`${folder} ${problem}; remove it, or set XDG_STATE_HOME to a folder of yours.`);
}

/**
 * Removes the folders of killed launches, because they hold keys. Folders of other users stay,
 * because their files may become links during the removal.
 */
function sweep(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, owner] = /^patchbay-launch-(\d+)-/.exec(name) ?? [];
    if (owner === undefined || isAlive(Number(owner))) continue;
    const folder = join(parent, name);
    if (foreignFolder(folder) !== undefined) continue;
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // It is in use, or on a file system that has become read-only; the next launch tries again.
    }
  }
}
