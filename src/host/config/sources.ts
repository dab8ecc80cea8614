/** Finds the configuration, and reads the files that it is made of. */

import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { FileRefusal, readBytes } from "../platform/careful-files.ts";
import type { Finding } from "./config-file.ts";
import type { Environment } from "./env.ts";
import { contentDigest, readTrust, type Digests, type Trust } from "./trust.ts";
import { settingsFolder } from "./user-folders.ts";

/** The inputs that decide where configuration comes from. */
export type ConfigOrigin = {
  /** `--config`: to name a file is to trust it. */
  readonly file?: string | undefined;
  /** True if `file` was found in the current folder, so that each version of it needs trust. */
  readonly needsTrust?: boolean | undefined;
  /** True if `file` is read again by a process that runs, which must not wait for a pipe. */
  readonly isAgain?: boolean | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly env: Environment;
  readonly directory: string;
};

/** The names under which a configuration is looked for. */
export const configNames = ["patchbay.yaml", "patchbay.yml", "patchbay.json"];

type Candidate = { readonly file: string; readonly needsTrust: boolean };

/** The configuration to use: its text, or the problem with it. Without either there is no configuration file. */
type Found = Partial<Candidate> & {
  readonly text?: string | undefined;
  readonly wrong?: Finding | undefined;
  readonly reader: ConfigReader;
  /** Files of the current folder that are not used, and the reasons. */
  readonly passedOver: readonly Finding[];
};

/** Finds the first configuration that may be used, and lists the untrusted files that it passed over. */
export function findSource(origin: ConfigOrigin): Found {
  const passedOver: Finding[] = [];
  for (const { file, needsTrust } of candidates(origin)) {
    const trust = needsTrust ? readTrust(file, origin.env) : {};
    if (needsTrust && trust.digests === undefined) {
      passedOver.push(untrusted(file, trust));
      continue;
    }
    const reader = new ConfigReader(dirname(file), trust);
    const found = { file, needsTrust, reader, passedOver };
    try {
      const text = reader.readConfig(file, !needsTrust && origin.isAgain !== true);
      return { ...found, text, wrong: reader.changed(file) };
    } catch (error) {
      return { ...found, wrong: unreadable(file, error) };
    }
  }
  return { reader: new ConfigReader(origin.directory), passedOver };
}

function candidates({
  file,
  needsTrust = false,
  env,
  directory,
}: ConfigOrigin): readonly Candidate[] {
  if (file !== undefined) return [{ file: resolve(directory, file), needsTrust }];
  const own = settingsFolder(env);
  const isOwn = own !== undefined && isSameFolder(own, directory);
  const found = isOwn
    ? []
    : configNames.map((name) => ({ file: join(directory, name), needsTrust: true }));
  const settled =
    own === undefined
      ? []
      : configNames.map((name) => ({ file: join(own, name), needsTrust: false }));
  return [...found, ...settled].filter((one) => existsSync(one.file));
}

function isSameFolder(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false; // One of them is not there.
  }
}

const REMEDY = "read it, then run `patchbay trust`, or name it for one run with `--config`";

const untrusted = (file: string, { problem }: Trust): Finding => ({
  file,
  path: "",
  message: `is not used because ${problem ?? "you have not trusted it"}; it could send your keys to others and run programs: ${REMEDY}`,
});

/** Enough for any configuration; more takes its parser long. */
export const LONGEST = 1_000_000;
/** A script may be a recorded conversation. */
const LONGEST_PART = 16_777_216;

/** Reads a configuration and the files that it names, and keeps their digests. */
export class ConfigReader {
  readonly #directory: string;
  readonly #trust: Trust;
  readonly #digests = new Map<string, string>();

  constructor(directory: string, trust: Trust = {}) {
    this.#directory = directory;
    this.#trust = trust;
  }

  /** By path: the configuration itself, and files that it names by relative paths. */
  get digests(): Digests {
    return this.#digests;
  }

  /** The first file so far that differs from its trusted version; undefined if all match, or need no trust. */
  changed(config: string): Finding | undefined {
    const trusted = this.#trust.digests;
    if (trusted === undefined) return undefined;
    for (const [part, digest] of this.#digests) {
      if (trusted.get(part) === digest) continue;
      const since = part === config ? "has" : `names ${part}, which has`;
      const message = `${since} changed since it was trusted, so it is not used; ${REMEDY}`;
      return { file: config, path: "", message };
    }
    return undefined;
  }

  readConfig(file: string, isPipeAllowed: boolean): string {
    const bytes = isPipeAllowed ? readNamed(file) : readBytes(file, { limit: LONGEST });
    this.#digests.set(file, contentDigest(bytes));
    return bytes.toString("utf8");
  }

  resolve(path: string): string {
    return resolve(this.#directory, path);
  }

  /** The text of a file that the configuration names. Throws a system error or a FileRefusal. */
  readPart(path: string): string {
    const file = this.resolve(path);
    const bytes = readBytes(file, { limit: LONGEST_PART });
    // Absolute paths name files outside the clone, such as secrets of a service, which may change.
    if (!isAbsolute(path)) this.#digests.set(file, contentDigest(bytes));
    return bytes.toString("utf8");
  }
}

/** Reads a pipe too: a user who names one on a command line waits for its writer. */
function readNamed(file: string): Buffer {
  try {
    return readBytes(file, { limit: LONGEST });
  } catch (error) {
    if (!(error instanceof FileRefusal) || error.code !== "ENOTFILE") throw error;
    return readFileSync(file);
  }
}

function unreadable(file: string, error: unknown): Finding {
  const { code = "unknown" } = error as NodeJS.ErrnoException;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "does not exist; check the path, or omit `--config`",
    EACCES: "cannot be read because of its permissions; change them",
    EISDIR: "is a directory; name the file in it",
    ENOTFILE: "is not a regular file; name one that is",
    EFBIG: `is longer than ${LONGEST} bytes; name the file that is the configuration`,
  };
  const message = reasons[code] ?? `cannot be read (${code}); check the file`;
  return { file, path: "", message };
}
