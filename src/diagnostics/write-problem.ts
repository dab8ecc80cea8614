/** Reasons why a file or folder cannot be written, with the remedy. Each continues a sentence that begins with the path. */

export const writeProblems: Readonly<Record<string, string>> = {
  EISDIR: "is a directory; choose a file in it",
  ENOTDIR: "is below a path that is not a directory; choose another path",
  EEXIST: "is below a path that is not a directory; choose another path",
  ENOENT: "is in a folder that cannot be created; choose another path",
  ENXIO: "is a socket, or a pipe without a reader; start the reader first, or choose a file",
  EACCES: "is not writable for this user; change its permissions, or choose another path",
  EPERM: "is not writable for this user; change its permissions, or choose another path",
  EROFS: "is on a read-only file system; choose another path",
  ENOSPC: "is on a full file system; free some space, or choose another path",
};

export function writeProblem(error: unknown): string {
  const { code = "unknown error" } = error as { readonly code?: string };
  return writeProblems[code] ?? `cannot be written (${code}); check the path, or leave it out`;
}
