import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../src/gateway/config.ts";
import { findingLine } from "../../src/host/config/config-file.ts";
import type { Environment } from "../../src/host/config/env.ts";
import { loadConfig, type LoadedConfig } from "../../src/host/config/load.ts";
import { configNames, type ConfigOrigin } from "../../src/host/config/sources.ts";
import { trustConfig } from "../../src/host/config/load.ts";

/** The folder that holds the configuration of the running test. */
export let directory = "";
export const makeFolder = (): void =>
  void (directory = mkdtempSync(join(tmpdir(), "patchbay-load-")));
export const removeFolder = (): void => rmSync(directory, { recursive: true });

/** The state directory too, in which the trust in what is written is kept. */
const home = (): string => join(directory, "home");

export function write(name: string, text: string): void {
  const file = join(directory, name);
  writeFileSync(file, text);
  if (configNames.includes(name)) trustConfig(file, { XDG_STATE_HOME: home() });
}

/** Loads from the test's own directory, which is its user's configuration directory too. */
export function load(env: Environment = {}, origin: Partial<ConfigOrigin> = {}): LoadedConfig {
  return loadConfig({
    env: { XDG_CONFIG_HOME: home(), XDG_STATE_HOME: home(), ...env },
    directory,
    ...origin,
  });
}

export function configOf(loaded: LoadedConfig): Config {
  if (loaded.ok) return loaded.config;
  throw new Error(loaded.findings.map(findingLine).join("\n"));
}

/** What is wrong, in the words of the command line. */
export const linesOf = (loaded: LoadedConfig): string[] =>
  loaded.ok
    ? []
    : loaded.findings.map((finding) => findingLine(finding).replace(`${directory}/`, ""));
