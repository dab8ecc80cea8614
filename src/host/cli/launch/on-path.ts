import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Environment } from "../../config/env.ts";

/** The file that a command stands for, as a shell would find it; undefined where there is none. */
export function onPath(commands: readonly string[], env: Environment): string | undefined {
  const folders = (env["PATH"] ?? env["Path"] ?? "").split(delimiter).filter((one) => one !== "");
  const endings = process.platform === "win32" ? (env["PATHEXT"] ?? ".EXE;.CMD").split(";") : [""];
  for (const command of commands)
    for (const folder of folders)
      for (const ending of endings) {
        const file = join(folder, command + ending);
        if (isProgram(file)) return file;
      }
  return undefined;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false; // Not there, or not ours to run: the next folder may have it.
  }
}
