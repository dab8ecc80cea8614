import { Fault, type FaultCode } from "../../turn/fault.ts";

/** The primary result codes of SQLite with a remedy. */
const byResult: Readonly<Record<number, readonly [FaultCode, string]>> = {
  5: ["store.unavailable", "is locked by another process; stop that process"],
  6: ["store.unavailable", "is locked by another process; stop that process"],
  8: ["store.unavailable", "is not writable; change its permissions"],
  10: ["store.unavailable", "cannot be read or written; check its disk"],
  11: ["store.unusable", "is damaged; move it away, so that a new one is made"],
  13: ["store.full", "is on a disk that is full; make room"],
  14: ["store.unavailable", "cannot be opened; check its folder and permissions"],
  26: ["store.unusable", "is not a database; move it away, so that a new one is made"],
};

const noMore = [
  "store.full",
  "cannot grow; check the free space, the disk quota, the limit on the size of files and the health of the disk",
] as const;

/**
 * Failures of writes, of the wait for the disk and of the growth of the shared index.
 * SQLite reports a full disk for ENOSPC alone; a quota and a limit on the size of files
 * have these codes.
 */
const byExtendedResult: Readonly<Record<number, readonly [FaultCode, string]>> = {
  778: noMore,
  1034: noMore,
  4874: noMore,
};

const byErrno: Readonly<Record<string, readonly [FaultCode, string]>> = {
  ENOSPC: ["store.full", "is on a disk that is full; make room"],
  EDQUOT: ["store.full", "exceeds the quota of its disk; make room"],
  EISDIR: ["store.unusable", "is a folder; name a file in it"],
};

const unknown = ["store.unavailable", "cannot be used; check its folder and permissions"] as const;

/** The Fault for an error of a file, with the remedy. It quotes SQLite's message, which contains no stored values. */
export function sqliteFault(error: unknown, path: string): Fault {
  if (error instanceof Fault) return error;
  const { errcode, code = "", message } = error as NodeJS.ErrnoException & { errcode?: number };
  const result = (errcode ?? 0) & 0xff;
  const [fault, what] =
    byExtendedResult[errcode ?? 0] ?? byResult[result] ?? byErrno[code] ?? unknown;
  return new Fault(fault, `The store ${path} ${what} (${message}).`, {}, error);
}

/** True if the file must be opened anew: there may be another at its path. */
export const mustReopen = ({ code }: Fault, cause: unknown): boolean => {
  const result = ((cause as { errcode?: number }).errcode ?? 0) & 0xff;
  return code === "store.unusable" || result === 10 || result === 14;
};
