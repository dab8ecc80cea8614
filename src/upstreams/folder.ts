import { existsSync, lstatSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder and its parents, one by one: `mkdir` with `recursive` never returns for a path
 * under `/proc`. Workers of one gateway make the same folders at the same time, so that a
 * folder may exist by the time of its making.
 */
export function makeFolder(folder: string, mode = 0o777): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

const WRITABLE_BY_ALL = 0o002;
const STICKY = 0o1000;

/**
 * The reason why a user other than this one and root could put files into a folder, or change a
 * link to it; undefined if there is no such user or no folder. Windows has neither owners nor such bits.
 */
export function foreignProblem(folder: string): string | undefined {
  const user = process.getuid?.();
  if (user === undefined || !existsSync(folder)) return undefined;
  const [link, target] = [lstatSync(folder), statSync(folder)];
  if ([link, target].some(({ uid }) => uid !== user && uid !== 0)) return "belongs to another user";
  const isOpen = (target.mode & (WRITABLE_BY_ALL | STICKY)) === WRITABLE_BY_ALL;
  return isOpen ? "can be written by every user" : undefined;
}
