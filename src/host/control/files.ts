/** The files of a running gateway: its private socket, and an entry that describes it. */

import { randomBytes } from "node:crypto";
import { chmodSync, lstatSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import { jsonOf } from "../../json/json.ts";
import { makeFolder } from "../../upstreams/folder.ts";
import type { Environment } from "../config/env.ts";
import { runtimeFolders } from "../config/user-folders.ts";
import { foreignFolder, isOwnSocket, readTextFile } from "../platform/careful-files.ts";

/** The content of the entry beside a socket. */
const entrySchema = z.looseObject({
  pid: z.number(),
  /** The process that started all workers of its port; its own if it is alone. */
  group: z.number(),
  /** Processes that share the port; left out by older versions. */
  workers: z.number().optional(),
  url: z.string(),
  version: z.string(),
  startedAt: z.number(),
  /** The agent for which `patchbay launch` started it. */
  agent: z.string().optional(),
});

export type ControlEntry = Readonly<z.output<typeof entrySchema>>;

/** An entry whose gateway listens. */
export type ListeningEntry = ControlEntry & {
  /** The path of the socket, or the name of the pipe. */
  readonly socket: string;
};

/** The names of the files: a process id and eight random digits. */
const FILE_NAME = /^(\d+-[\da-f]{8})\.(?:json|sock)$/;

export const newName = (): string => `${process.pid}-${randomBytes(4).toString("hex")}`;

/** Made from the name alone: an entry could name any socket. */
export const socketPath = (folder: string, name: string): string =>
  process.platform === "win32"
    ? String.raw`\\.\pipe\patchbay-${name}`
    : join(folder, `${name}.sock`);

/** Paths of sockets are held in 108 bytes on Linux and in 104 on macOS, the last of them zero. */
const LONGEST_PATH = 103;

/** The reason why a folder cannot hold the socket of this name; undefined once it exists and only its owner can use it. */
export function folderProblem(folder: string, name: string): string | undefined {
  if (process.platform !== "win32" && Buffer.byteLength(socketPath(folder, name)) > LONGEST_PATH)
    return "has a path that is too long for a socket";
  try {
    makeFolder(folder, 0o700);
    // Another user who can rename or write the folder could replace the gateway.
    const problem = foreignFolder(folder, { mayBeOpen: true });
    if (problem === undefined && process.platform !== "win32") chmodSync(folder, 0o700);
    return problem;
  } catch (error) {
    return `cannot be created or used (${(error as NodeJS.ErrnoException).code ?? "unknown error"})`;
  }
}

const entryPath = (folder: string, name: string): string => join(folder, `${name}.json`);

export function writeEntry(folder: string, name: string, entry: ControlEntry): void {
  const text = `${JSON.stringify(entry)}\n`;
  writeFileSync(entryPath(folder, name), text, { mode: 0o600, flag: "wx" });
}

/** Removes both files, if they exist. */
export function removeFiles(folder: string, name: string): void {
  try {
    rmSync(entryPath(folder, name), { force: true });
    rmSync(join(folder, `${name}.sock`), { force: true });
  } catch {
    // A folder that has become read-only keeps them; they are ignored as stale.
  }
}

/**
 * The gateways that answer in a folder; none if another user could have put the files there. The
 * files of killed gateways are removed.
 */
export async function entriesIn(folder: string): Promise<readonly ListeningEntry[]> {
  if (foreignFolder(folder) !== undefined) return [];
  const names = new Set(filesIn(folder).flatMap((file) => FILE_NAME.exec(file)?.[1] ?? []));
  const found = await Promise.all(Array.from(names, (name) => answering(folder, name)));
  return found.flatMap((entry) => entry ?? []).toSorted((a, b) => a.startedAt - b.startedAt);
}

async function answering(folder: string, name: string): Promise<ListeningEntry | undefined> {
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
    return entrySchema.safeParse(jsonOf(readTextFile(path, { limit: LONGEST_ENTRY, isOwn: true })))
      .data;
  } catch {
    return undefined; // It is not written yet, removed by now, or another user's.
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

/** True if a process exists, also one of another user. */
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
  readonly url: string;
  readonly version: string;
  /** The process to signal: the parent if there are several workers. */
  readonly pid: number;
  readonly startedAt: number;
  readonly agent?: string | undefined;
  /** The number of its processes; one that has ended is started again. */
  readonly workers: number;
  /** The sockets of its processes that run. */
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
    return `${folder} ${problem}, so gateways in it are ignored; ${remedy}.`;
  });

function gatewayOf(entries: ListeningEntry[]): LocalGateway {
  const [first] = entries;
  if (first === undefined) throw new RangeError("A group has a member.");
  const { url, version, group: pid, startedAt, agent, workers = entries.length } = first;
  const sockets = entries.map(({ socket }) => socket);
  return { url, version, pid, startedAt, agent, workers, sockets };
}
