import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { Fault } from "../../turn/fault.ts";

/**
 * Replaces a file of the user's and gives the path of the copy that is kept of
 * it, byte for byte. The new one is written beside it and then takes its place,
 * so that no fault in between leaves half a file.
 */
export function replaceFile(path: string, text: string): string {
  const backup = freeName(path);
  // A link stays a link.
  const file = realpathSync(path);
  const fresh = `${file}.${process.pid}.new`;
  try {
    copyFileSync(file, backup, constants.COPYFILE_EXCL);
    const { mode } = statSync(file);
    chmodSync(backup, mode & 0o777);
    writeFileSync(fresh, text, { flag: "wx", mode: mode & 0o777 });
    renameSync(fresh, file);
    return backup;
  } catch (error) {
    rmSync(fresh, { force: true });
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    throw new Fault(
      "request.invalid",
      `${path} cannot be replaced (${code}), and is as it was; check permissions and space in its folder.`,
      {},
      error,
    );
  }
}

function freeName(file: string): string {
  for (let at = 1; ; at++) {
    const name = `${file}.${at}.bak`;
    if (!existsSync(name)) return name;
  }
}
