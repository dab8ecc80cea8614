import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { environment, print, printJson, refusal } from "../../src/terminal.ts";
import { configNames, dropTrust, trustConfig } from "../../src/configuration.ts";
import type { Options } from "../options.ts";

/** `patchbay trust`: lets commands use the present version of a folder's configuration without `--config`. */
export function trust(named: string | undefined, { remove = false, json = false }: Options): void {
  const env = environment();
  const file = named === undefined ? fileHere() : resolve(named);
  if (!configNames.includes(basename(file)))
    throw refusal(
      `${file} has none of the names that commands look for: ${configNames.join(", ")}. Pass it with \`--config\` instead.`,
    );
  const isDone = remove ? dropTrust(file, env) : trustConfig(file, env);
  if (json) return printJson({ file, trusted: !remove });
  if (!remove) print(`${file} is trusted in its present version.`);
  else print(`${file} ${isDone ? "is no longer" : "was not"} trusted.`);
}

function fileHere(): string {
  const found = configNames
    .map((name) => join(process.cwd(), name))
    .find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw refusal(
    `${process.cwd()} contains no ${configNames.join(", ")}; change to the folder of the file, or name the file.`,
  );
}
