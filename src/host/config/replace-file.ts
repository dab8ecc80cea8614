import { constants, copyFileSync, existsSync, realpathSync, statSync } from "node:fs";
import { Fault } from "../../turn/fault.ts";
import { writeWhole } from "../cli/launch/keep/write-whole.ts";

/** Replaces a file of the user's and gives the path of the copy that is kept of it, byte for byte. */
export function replaceFile(path: string, text: string): string {
  const backup = freeName(path);
  try {
    // A link stays a link.
    const file = realpathSync(path);
    copyFileSync(file, backup, constants.COPYFILE_EXCL);
    writeWhole(file, Buffer.from(text), statSync(file).mode & 0o777);
    return backup;
  } catch (error) {
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
