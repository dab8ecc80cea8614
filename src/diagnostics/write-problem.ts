/** Reasons why a file or folder cannot be written, with the remedy. Each continues a sentence that begins with the path. */

export const writeProblems: Readonly<Record<string, string>> = {
  EISDIR: "is a directory; name a file in it",
  ENOTDIR: "stands below something that is no directory; choose another path",
  EEXIST: "stands below something that is no directory; choose another path",
  ENOENT: "stands where no folder can be made; choose another path",
  ENXIO: "is a pipe that nobody reads, or a socket; start its reader first, or name a file",
  EACCES: "may not be written by this user; change its permissions, or choose another path",
  EPERM: "may not be written by this user; change its permissions, or choose another path",
  EROFS: "is on a file system that is read-only; choose another path",
  ENOSPC: "is on a file system that is full; make room, or choose another path",
};

export function writeProblem(error: unknown): string {
  const { code = "unknown error" } = error as { readonly code?: string };
  return writeProblems[code] ?? `cannot be written (${code}); check the path, or leave it out`;
}
