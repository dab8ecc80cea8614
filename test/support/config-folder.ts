import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { Config } from "../../src/gateway/config.ts";
import { findingLine } from "../../src/host/config/config-file.ts";
import type { Environment } from "../../src/host/config/env.ts";
import { loadConfig, type Loaded, type Origin } from "../../src/host/config/load.ts";

/** A folder of the test's own, for configurations. */
export let directory = "";
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "patchbay-load-"))));
afterEach(() => rmSync(directory, { recursive: true }));

export const write = (name: string, text: string): void =>
  writeFileSync(join(directory, name), text);

/** Loads from the test's own directory, which is its user's configuration directory too. */
export function load(env: Environment = {}, wish: Partial<Origin> = {}): Loaded {
  const home = join(directory, "home");
  return loadConfig({ env: { XDG_CONFIG_HOME: home, ...env }, directory, ...wish });
}

export function configOf(loaded: Loaded): Config {
  if (loaded.ok) return loaded.config;
  throw new Error(loaded.findings.map(findingLine).join("\n"));
}

/** What is wrong, in the words of the command line. */
export const linesOf = (loaded: Loaded): string[] =>
  loaded.ok
    ? []
    : loaded.findings.map((finding) => findingLine(finding).replace(`${directory}/`, ""));
