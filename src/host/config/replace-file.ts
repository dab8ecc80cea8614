import { existsSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { Fault } from "../../turn/fault.ts";
import { FileRefusal, readBytes } from "../platform/careful-files.ts";
import { writeWhole } from "../platform/write-whole.ts";

/** Replaces a file of the user's and gives the path of the copy that is kept of it, byte for byte. */
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
    throw new Fault(
      "request.invalid",
      `${path} cannot be replaced (${reason}), and is as it was; check permissions and space in its folder.`,
      {},
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
