import { Fault, type FaultCode } from "../../turn/fault.ts";

/** The primary result codes of SQLite that say what to do. */
const byResult: Readonly<Record<number, readonly [FaultCode, string]>> = {
  5: ["store.unavailable", "is locked by another process; stop what holds it"],
  6: ["store.unavailable", "is locked by another process; stop what holds it"],
  8: ["store.unavailable", "may not be written; change its permissions"],
  10: ["store.unavailable", "cannot be read or written; look at its disk"],
  11: ["store.unusable", "is damaged; move it away, and a new one is made"],
  13: ["store.full", "is on a disk that is full; make room"],
  14: ["store.unavailable", "cannot be opened; look at its folder and permissions"],
  26: ["store.unusable", "is no database; move it away, and a new one is made"],
};

const noMore = [
  "store.full",
  "cannot be written any further; look whether its disk is full or fails, its quota is used up or files may not grow, and make room",
] as const;

/**
 * Writes, the wait for the disk and the growth of the shared index that fail.
 * SQLite says that a disk is full for ENOSPC alone; a quota and a limit on the
 * size of files end here.
 */
const byExtendedResult: Readonly<Record<number, readonly [FaultCode, string]>> = {
  778: noMore,
  1034: noMore,
  4874: noMore,
};

const byErrno: Readonly<Record<string, readonly [FaultCode, string]>> = {
  ENOSPC: ["store.full", "is on a disk that is full; make room"],
  EDQUOT: ["store.full", "is beyond the quota of its disk; make room"],
  EISDIR: ["store.unusable", "is a folder; name a file in it"],
};

const unknown = [
  "store.unavailable",
  "cannot be used; look at its folder and permissions",
] as const;

/** What was thrown at a file, as a Fault with the remedy. Texts of SQLite hold no values, so they may be told. */
export function toStoreFault(error: unknown, path: string): Fault {
  if (error instanceof Fault) return error;
  const { errcode, code = "", message } = error as NodeJS.ErrnoException & { errcode?: number };
  const result = (errcode ?? 0) & 0xff;
  const [fault, what] =
    byExtendedResult[errcode ?? 0] ?? byResult[result] ?? byErrno[code] ?? unknown;
  return new Fault(fault, `The store ${path} ${what} (${message}).`, {}, error);
}

/** Whether the file has to be opened anew: what is there now may be another. */
export const mustReopen = ({ code }: Fault, cause: unknown): boolean => {
  const result = ((cause as { errcode?: number }).errcode ?? 0) & 0xff;
  return code === "store.unusable" || result === 10 || result === 14;
};
