import {
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { foreignProblem, makeFolder } from "../folder.ts";
import { CodexError } from "./error.ts";
import { catalogText, configText, needsLogin, WRITTEN, type Provider } from "./settings.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Writes our configuration and model catalog into the process's CODEX_HOME and,
 * where Codex is used with a sign-in, links the one that the user has.
 */
export function prepareHome(home: string, provider: Provider, env: Environment): void {
  const config = join(home, "config.toml");
  try {
    makeFolder(home, 0o700);
    const foreign = foreignProblem(home);
    if (foreign !== undefined) throw new CodexError({ type: "unwritable-home", code: foreign });
    if (existsSync(config) && !isOurs(config)) throw new CodexError({ type: "foreign-home" });
    const catalog = join(home, "patchbay-models.json");
    writeWhole(catalog, catalogText());
    writeWhole(config, configText(catalog));
    if (needsLogin(provider)) linkLogin(home, env);
  } catch (error) {
    if (error instanceof CodexError) throw error;
    const { code } = error as { readonly code?: unknown };
    const reason = typeof code === "string" ? code : "error";
    throw new CodexError({ type: "unwritable-home", code: reason }, error);
  }
}

/** To open a pipe would wait for its writer. */
const isOurs = (config: string): boolean =>
  statSync(config).isFile() && readFileSync(config, "utf8").startsWith(WRITTEN);

/** Codex reads its files whenever a thread starts, so they are replaced as a whole. */
function writeWhole(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, "utf8") === text) return;
  const draft = `${file}.${process.pid}.new`;
  writeFileSync(draft, text);
  renameSync(draft, file);
}

/** The sign-in of the user's own Codex. */
export const loginFile = (env: Environment): string =>
  join(env["CODEX_HOME"] || join(env["HOME"] || homedir(), ".codex"), "auth.json");

function linkLogin(home: string, env: Environment): void {
  const link = join(home, "auth.json");
  const login = loginFile(env);
  if (link === login || !existsSync(login)) return;
  try {
    // Not a copy: Codex renews the sign-in, which makes the other one invalid.
    symlinkSync(login, link);
  } catch (error) {
    // There is one, or another process has just made it.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
