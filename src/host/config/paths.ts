/** The files and folders that a configuration names. */

import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { isHttpUpstream, type Config } from "../../gateway/config.ts";
import { pathText, type Problem } from "../../diagnostics/problem.ts";
import { isFields } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { checkScript } from "../../upstreams/scripted/script.ts";
import type { Finding } from "./config-file.ts";
import type { Environment } from "./env.ts";
import type { ConfigReader } from "./sources.ts";
import { foreignProblem } from "../../upstreams/folder.ts";
import { unwritable } from "../server/turn-files.ts";
import { stateFolder } from "./user-folders.ts";

export type Scripts = {
  readonly raw: Fields;
  readonly files: readonly string[];
  /** Problems of the configuration. */
  readonly problems: readonly Problem[];
  /** Problems inside the scripts. */
  readonly findings: readonly Finding[];
};

/** Replaces the names of scripts in a configuration by their texts. */
export function readScripts(raw: Fields, reader: ConfigReader): Scripts {
  const files: string[] = [];
  const problems: Problem[] = [];
  const findings: Finding[] = [];
  if (!isFields(raw.upstreams)) return { raw, files, problems, findings };
  const upstreams = mapped(raw.upstreams, (upstream, name) => {
    if (!isFields(upstream) || upstream.script === undefined) return upstream;
    const path = ["upstreams", name, "script"];
    if (typeof upstream.script !== "string") {
      for (const { path: at, message } of checkScript(upstream.script).problems)
        problems.push({ path: [...path, ...at], message });
      return upstream;
    }
    const file = reader.resolve(upstream.script);
    const script = textIn(upstream.script, reader);
    if (script === undefined) {
      const message = `there is no file ${file}; create it, or remove the key to use the demo`;
      problems.push({ path, message });
      return upstream;
    }
    // Several upstreams may follow one script.
    if (!files.includes(file)) {
      files.push(file);
      for (const { path: at, line, message } of checkScript(script).problems)
        findings.push({ file, line, path: pathText(at), message });
    }
    return { ...upstream, script };
  });
  return { raw: { ...raw, upstreams }, files, problems, findings };
}

/** A group with the same keys and other values; a key such as `__proto__` is only a name. */
const mapped = <From, To>(
  group: Readonly<Record<string, From>>,
  each: (value: From, name: string) => To,
): Record<string, To> =>
  Object.fromEntries(Object.entries(group).map(([name, value]) => [name, each(value, name)]));

function textIn(path: string, reader: ConfigReader): string | undefined {
  try {
    return reader.readPart(path);
  } catch {
    return undefined; // The remedy is the same for every reason.
  }
}

/**
 * Defaults `home` to a folder in the state directory. A default in the current folder would let a
 * clone bring a home with its author's sign-in and instructions.
 */
export function withCodexHome(raw: Fields, env: Environment): Fields {
  const state = stateFolder(env);
  if (!isFields(raw.upstreams) || state === undefined) return raw;
  const home = join(state, "codex");
  const upstreams = mapped(raw.upstreams, (upstream) =>
    isFields(upstream) && upstream.dialect === "codex" && upstream.home === undefined
      ? { ...upstream, home }
      : upstream,
  );
  return { ...raw, upstreams };
}

/** Resolves relative paths from the folder of the configuration. */
export function settlePaths(config: Config, directory: string): Config {
  const at = (path: string): string => resolve(directory, path);
  const upstreams = mapped(config.upstreams, (upstream) =>
    !isHttpUpstream(upstream) && upstream.dialect === "codex"
      ? { ...upstream, home: at(upstream.home) }
      : upstream,
  );
  const { store, telemetry, recording } = config;
  return {
    ...config,
    upstreams,
    store: store.kind === "sqlite" ? { ...store, path: at(store.path) } : store,
    telemetry: {
      ...telemetry,
      usage_log: telemetry.usage_log && at(telemetry.usage_log),
      event_log: telemetry.event_log && at(telemetry.event_log),
    },
    recording: { ...recording, folder: recording.folder && at(recording.folder) },
  };
}

/** Log files and a store that cannot be written, found without writing. */
export function fileProblems(telemetry: Fields, store: Fields, directory: string): Problem[] {
  const { recording: _, ...logs } = telemetry;
  return [
    ...Object.entries(logs).map(([key, path]) => ["telemetry", key, path] as const),
    ["store", "path", store.path] as const,
  ].flatMap(([section, key, path]) => {
    if (typeof path !== "string" || path === "") return [];
    const problemOf = section === "store" ? storeProblem : unwritable;
    const message = problemOf(resolve(directory, path));
    return message === undefined ? [] : [{ path: [section, key], message }];
  });
}

/**
 * The store of a configuration without one: a file in the user's state directory, or memory if
 * nothing can be written there.
 */
export function defaultStore(env: Environment): {
  readonly store: Config["store"];
  readonly notes: readonly string[];
} {
  const folder = stateFolder(env);
  const path = join(folder ?? "", "patchbay.db");
  const foreign = folder === undefined ? undefined : foreignProblem(folder);
  const problem =
    folder === undefined ? "has no folder: there is no home" : (foreign ?? storeProblem(path));
  if (problem === undefined) return { store: { kind: "sqlite", path }, notes: [] };
  const note = `${foreign === undefined ? path : folder} ${problem}. Past answers are kept in memory until a restart; set \`store.path\` to a file, or set \`store: memory\`.`;
  return { store: { kind: "memory" }, notes: [note] };
}

/** The reason why there can be no database at a path. */
function storeProblem(path: string): string | undefined {
  const found = statOf(path);
  const isOdd = found !== undefined && !found.isFile() && !found.isDirectory();
  return isOdd ? "is not a regular file; name one that is" : unwritable(path);
}

function statOf(path: string) {
  try {
    return statSync(path);
  } catch {
    return undefined; // It does not exist, or its folder is closed, which `unwritable` reports.
  }
}
