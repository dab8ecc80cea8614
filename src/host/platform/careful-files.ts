/**
 * Reads files that another user or a clone may have put in place: the open never waits,
 * only a regular file is read, and no more of it than a limit.
 */

import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { refusal } from "./print.ts";

export type ReadRules = {
  /** In bytes. */
  readonly limit: number;
  /** True: the file must belong to this user, not be writable by others, and not be a link. */
  readonly isOwn?: boolean | undefined;
};

/** The reason for not reading a file, as the end of a sentence; `code` is like that of a system error. */
export class FileRefusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

// Windows has neither O_NONBLOCK nor O_NOFOLLOW; `|` takes undefined as 0.
const { O_NONBLOCK, O_NOFOLLOW, O_RDONLY } = constants;

/** The bytes of a regular file. Throws a system error, or a FileRefusal. */
export function readBytes(path: string, { limit, isOwn = false }: ReadRules): Buffer {
  const descriptor = openSync(path, O_RDONLY | O_NONBLOCK | (isOwn ? O_NOFOLLOW : 0));
  try {
    const found = fstatSync(descriptor);
    if (found.isDirectory()) throw new FileRefusal("EISDIR", "is a directory");
    if (!found.isFile()) throw new FileRefusal("ENOTFILE", "is not a regular file");
    const foreign = isOwn ? foreignReason(found) : undefined;
    if (foreign !== undefined) throw new FileRefusal("EFOREIGN", foreign);
    return readWithin(descriptor, limit);
  } finally {
    closeSync(descriptor);
  }
}

export const readTextFile = (path: string, rules: ReadRules): string =>
  readBytes(path, rules).toString("utf8");

/** Reads to the end instead of trusting the reported size, which is 0 under `/proc`. */
function readWithin(descriptor: number, limit: number): Buffer {
  const pieces: Buffer[] = [];
  for (let length = 0; length <= limit;) {
    const piece = Buffer.allocUnsafe(65_536);
    const read = readSync(descriptor, piece);
    if (read === 0) return Buffer.concat(pieces, length);
    pieces.push(piece.subarray(0, read));
    length += read;
  }
  throw new FileRefusal("EFBIG", `is longer than ${limit} bytes`);
}

/** The write permissions of the group and of all other users. */
const WRITABLE = 0o022;

/** The reason why another user may have made or changed a file. Node sees neither owners nor such bits on Windows. */
function foreignReason(found: Stats): string | undefined {
  if (process.getuid === undefined || (found.mode & WRITABLE) === 0) return foreignOwner(found);
  return foreignOwner(found) ?? "can be changed by other users";
}

const foreignOwner = ({ uid }: Stats): string | undefined =>
  process.getuid === undefined || uid === process.getuid() ? undefined : "belongs to another user";

/** True for a socket of this user; Windows has pipes, which have no file. */
export function isOwnSocket(path: string): boolean {
  if (process.getuid === undefined) return true;
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isSocket() === true && foreignOwner(found) === undefined;
}

/**
 * The reason why another user may have written the files of a folder; undefined if only this user
 * can, or if it is missing. `mayBeOpen`: permissions of others are no reason.
 */
export function foreignFolder(folder: string, { mayBeOpen = false } = {}): string | undefined {
  try {
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (found === undefined) return undefined;
    if (!found.isDirectory()) return "is not a folder";
    return mayBeOpen ? foreignOwner(found) : foreignReason(found);
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    return code === "ENOTDIR" ? undefined : `cannot be read (${code})`;
  }
}

/**
 * The reason why another user could write in a folder or replace it. The parent folder is checked
 * too; it may be a link that this user owns.
 */
export function foreignPlace(folder: string): string | undefined {
  const around = dirname(folder);
  const found = lstatSync(around, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() === true && foreignOwner(found) !== undefined)
    return `${around} is a link of another user`;
  const real = found !== undefined && existsSync(around) ? realpathSync(around) : around;
  for (const one of [real, folder]) {
    const problem = foreignFolder(one);
    if (problem !== undefined) return `${one} ${problem}`;
  }
  return undefined;
}

/** Writes a file in one step: a reader, also after a crash, finds either the old or the new content. */
export function writeWhole(file: string, bytes: Uint8Array, mode: number): void {
  const beside = `${file}.patchbay-${process.pid}`;
  try {
    const descriptor = openSync(beside, "wx", mode);
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    // The mask of the process may have removed bits of the mode.
    chmodSync(beside, mode);
    renameSync(beside, file);
  } catch (error) {
    rmSync(beside, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    // A file that is a mount cannot be replaced, nor one in a folder without write permission.
    if (code !== "EBUSY" && code !== "EXDEV" && code !== "EACCES" && code !== "EPERM") throw error;
    writeFileSync(file, bytes);
  }
}

/** Replaces a file of the user. Returns the path of the backup. */
export function replaceFile(path: string, text: string): string {
  const backup = freeName(path);
  try {
    // A link stays a link.
    const file = realpathSync(path);
    const bytes = readBytes(file, { limit: LONGEST });
    const mode = statSync(file).mode & 0o777;
    writeFileSync(backup, bytes, { flag: "wx", mode });
    writeWhole(file, Buffer.from(text), mode);
    return backup;
  } catch (error) {
    const { code = "unknown", message } = error as NodeJS.ErrnoException;
    const reason = error instanceof FileRefusal ? message : code;
    throw refusal(
      `${path} cannot be replaced (${reason}) and is unchanged; check the permissions and the free space of its folder.`,
      error,
    );
  }
}

/** Far more than any configuration has. */
const LONGEST = 16_777_216;

function freeName(file: string): string {
  for (let at = 1; ; at++) {
    const name = `${file}.${at}.bak`;
    if (!existsSync(name)) return name;
  }
}
