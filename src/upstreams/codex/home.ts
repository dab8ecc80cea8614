import {
  existsSync,
  lstatSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { makeFolder } from "../folder.ts";
import { catalogText, configText, needsLogin, WRITTEN, type Provider } from "./settings.ts";

/**
 * Makes the child's home ready: our configuration, our catalog and, where Codex
 * goes by its own sign-in, a way to the one the user has already. False: it is
 * somebody's own, and left as it is.
 */
export function prepareHome(
  home: string,
  provider: Provider,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const config = join(home, "config.toml");
  if (existsSync(config) && !readFileSync(config, "utf8").startsWith(WRITTEN)) return false;
  makeFolder(home, 0o700);
  const catalog = join(home, "patchbay-models.json");
  put(catalog, catalogText());
  put(config, configText(catalog));
  if (needsLogin(provider)) shareLogin(home, env);
  return true;
}

/** Codex reads its files whenever a thread starts, so they are never half written. */
function put(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, "utf8") === text) return;
  const draft = `${file}.${process.pid}.new`;
  writeFileSync(draft, text);
  renameSync(draft, file);
}

/** Where the user's own Codex keeps its sign-in. */
export const loginFile = (env: Readonly<Record<string, string | undefined>>): string =>
  join(env["CODEX_HOME"] || join(env["HOME"] || homedir(), ".codex"), "auth.json");

function shareLogin(home: string, env: Readonly<Record<string, string | undefined>>): void {
  const own = join(home, "auth.json");
  const users = loginFile(env);
  const taken = lstatSync(own, { throwIfNoEntry: false }) !== undefined;
  // A link, because Codex renews the sign-in and two copies would fall apart.
  if (!taken && own !== users && existsSync(users)) symlinkSync(users, own);
}
