/** The files by which a running gateway is found: a socket and, beside it, who listens there. */

import { randomBytes } from "node:crypto";
import { chmodSync, lstatSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import { jsonOf } from "../../json/json.ts";
import { makeFolder } from "../../upstreams/folder.ts";
import type { Environment } from "../config/env.ts";
import { runtimeFolders } from "../config/user-folders.ts";
import { foreignFolder, isOwnSocket, readText } from "../platform/careful-files.ts";

/** What the file beside a socket says. */
const entrySchema = z.looseObject({
  pid: z.number(),
  /** The process that started it with others to share a port; its own where it is alone. */
  group: z.number(),
  /** How many processes share the port; none from a gateway of an older version. */
  workers: z.number().optional(),
  url: z.string(),
  version: z.string(),
  startedAt: z.number(),
  /** The agent that it was started for, where it is one of `patchbay launch`. */
  agent: z.string().optional(),
});

export type ControlEntry = Readonly<z.output<typeof entrySchema>>;

/** An entry whose gateway listens. */
export type FoundEntry = ControlEntry & {
  /** The path of the socket, or the name of the pipe. */
  readonly socket: string;
};

/** What gateways call their files: a process, and eight digits of chance. */
const FILE_NAME = /^(\d+-[\da-f]{8})\.(?:json|sock)$/;

export const newName = (): string => `${process.pid}-${randomBytes(4).toString("hex")}`;

/** Made from the name alone: an entry could name any socket. */
export const socketPath = (folder: string, name: string): string =>
  process.platform === "win32"
    ? String.raw`\\.\pipe\patchbay-${name}`
    : join(folder, `${name}.sock`);

/** Paths of sockets are held in 108 bytes on Linux and in 104 on macOS, the last of them zero. */
const LONGEST_PATH = 103;

/** Why a folder will not do for the socket of this name; undefined once it is there for its owner alone. */
export function folderProblem(folder: string, name: string): string | undefined {
  if (process.platform !== "win32" && Buffer.byteLength(socketPath(folder, name)) > LONGEST_PATH)
    return "is too long a path for a socket";
  try {
    makeFolder(folder, 0o700);
    const found = lstatSync(folder);
    // A folder that others can rename or write would let them stand in for the gateway.
    if (!found.isDirectory()) return "is no folder";
    if (process.getuid !== undefined && found.uid !== process.getuid())
      return "belongs to another user";
    if (process.platform !== "win32" && (found.mode & 0o077) !== 0) chmodSync(folder, 0o700);
    return undefined;
  } catch (error) {
    return `cannot be made or used (${(error as NodeJS.ErrnoException).code ?? "unknown error"})`;
  }
}

const entryPath = (folder: string, name: string): string => join(folder, `${name}.json`);

export function writeEntry(folder: string, name: string, entry: ControlEntry): void {
  const text = `${JSON.stringify(entry)}\n`;
  writeFileSync(entryPath(folder, name), text, { mode: 0o600, flag: "wx" });
}

/** Removes both files; what is gone already will do. */
export function removeFiles(folder: string, name: string): void {
  try {
    rmSync(entryPath(folder, name), { force: true });
    rmSync(join(folder, `${name}.sock`), { force: true });
  } catch {
    // A folder that has become read-only keeps them; they are stale, and passed over.
  }
}

/**
 * The gateways that answer in a folder; none where another user could have put the files. What
 * gateways that were killed have left there is removed.
 */
export async function entriesIn(folder: string): Promise<readonly FoundEntry[]> {
  if (foreignFolder(folder) !== undefined) return [];
  const names = new Set(filesIn(folder).flatMap((file) => FILE_NAME.exec(file)?.[1] ?? []));
  const found = await Promise.all(Array.from(names, (name) => answering(folder, name)));
  return found.flatMap((entry) => entry ?? []).toSorted((a, b) => a.startedAt - b.startedAt);
}

async function answering(folder: string, name: string): Promise<FoundEntry | undefined> {
  const entry = readEntry(entryPath(folder, name));
  const socket = socketPath(folder, name);
  if (isOwnSocket(socket) && (await isListening(socket))) return entry && { ...entry, socket };
  // Between its bind and its listen even a living gateway refuses, for an instant.
  if (!isAlive(Number.parseInt(name, 10)) || isOld(folder, name)) removeFiles(folder, name);
  return undefined;
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // No gateway has been here.
  }
}

const LONGEST_ENTRY = 65_536;

function readEntry(path: string): ControlEntry | undefined {
  try {
    return entrySchema.safeParse(jsonOf(readText(path, { limit: LONGEST_ENTRY, isOwn: true })))
      .data;
  } catch {
    return undefined; // It is not written yet, gone by now, or another user's.
  }
}

function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (listens: boolean): void => {
      socket.destroy();
      resolve(listens);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}

/** Whether a process is there, be it another user's. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Longer than a gateway takes from its socket to its entry. */
const STARTING_MS = 5000;

function isOld(folder: string, name: string): boolean {
  const found = lstatSync(join(folder, `${name}.sock`), { throwIfNoEntry: false });
  return found === undefined || Date.now() - found.mtimeMs > STARTING_MS;
}

/** A gateway that runs on this machine for this user. */
export type LocalGateway = {
  /** Where clients reach it. */
  readonly url: string;
  readonly version: string;
  /** The process to signal: that of the workers' parent where there are several. */
  readonly pid: number;
  readonly startedAt: number;
  readonly agent?: string | undefined;
  /** How many processes it is to have; one that has ended is started again. */
  readonly workers: number;
  /** The socket of each of its processes that is there: one, or one for each worker. */
  readonly sockets: readonly string[];
};

/** The gateways of this user that answer on their sockets, the oldest first. */
export async function findGateways(env: Environment): Promise<readonly LocalGateway[]> {
  const found = await Promise.all(runtimeFolders(env).map(entriesIn));
  const groups = Map.groupBy(found.flat(), ({ group, url }) => `${group} ${url}`);
  return Array.from(groups.values(), gatewayOf).toSorted((a, b) => a.startedAt - b.startedAt);
}

/** The folders in which no gateway is looked for, because another user could have put the files there. */
export const foreignFolders = (env: Environment): readonly string[] =>
  runtimeFolders(env).flatMap((folder) => {
    const problem = foreignFolder(folder);
    if (problem === undefined) return [];
    const remedy = "remove it, or set PATCHBAY_RUNTIME_DIR to a folder of your own";
    return `${folder} ${problem}, so no gateway is looked for in it; ${remedy}.`;
  });

function gatewayOf(entries: FoundEntry[]): LocalGateway {
  const [first] = entries;
  if (first === undefined) throw new RangeError("A group has a member.");
  const { url, version, group: pid, startedAt, agent, workers = entries.length } = first;
  const sockets = entries.map(({ socket }) => socket);
  return { url, version, pid, startedAt, agent, workers, sockets };
}
