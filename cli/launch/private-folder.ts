import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { foreignFolder } from "../../src/host/platform/careful-files.ts";
import { within } from "./keep/keep.ts";

const PREFIX = "patchbay-launch-";

export type PrivateFolder = Disposable & {
  readonly path: string;
  /** Writes files of ours: text by path in the folder. */
  write(files: Readonly<Record<string, string>>): void;
};

/** A folder for one launch, readable by this user alone, and gone with it. */
export function privateFolder(): PrivateFolder {
  const parent = tmpdir();
  const path = within(parent, () => {
    sweep(parent);
    return mkdtempSync(join(parent, `${PREFIX}${process.pid}-`));
  });
  return {
    path,
    write(files) {
      for (const [name, text] of Object.entries(files)) {
        const file = join(path, name);
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
        writeFileSync(file, text, { mode: 0o600 });
      }
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/**
 * Removes the folders of launches that were killed before they could: keys are in them. Another
 * user's stay: what is in them may become a link while it is removed.
 */
function sweep(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, owner] = /^patchbay-launch-(\d+)-/.exec(name) ?? [];
    if (owner === undefined || isRunning(Number(owner))) continue;
    const folder = join(parent, name);
    if (foreignFolder(folder) !== undefined) continue;
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // It is in use, or on a file system that has become read-only; the next launch tries again.
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
