import {
  chmodSync,
  closeSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";

/** Writes a file so that a reader, or whoever looks after a crash, finds it whole: as it was, or as it shall be. */
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
    // The process's mask counts when a file is made.
    chmodSync(beside, mode);
    renameSync(beside, file);
  } catch (error) {
    rmSync(beside, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    // A file of its own mount cannot be replaced, nor one in a folder that is not to be written to.
    if (code !== "EBUSY" && code !== "EXDEV" && code !== "EACCES" && code !== "EPERM") throw error;
    writeFileSync(file, bytes);
  }
}
