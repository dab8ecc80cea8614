import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Config } from "../gateway/config.ts";
import type { Problem } from "../gateway/problems.ts";
import { isFields } from "../turn/json.ts";
import type { Fields } from "../turn/turn.ts";
import { checkScript } from "../upstreams/scripted/script.ts";
import { pathText, type Finding } from "./config-file.ts";

export type Scripts = {
  readonly raw: Fields;
  readonly files: readonly string[];
  /** What is wrong with the configuration. */
  readonly problems: readonly Problem[];
  /** What is wrong with the scripts themselves. */
  readonly findings: readonly Finding[];
};

/** Puts the scripts that a configuration names in the place of their names. */
export function readScripts(raw: Fields, directory: string): Scripts {
  const files: string[] = [];
  const problems: Problem[] = [];
  const findings: Finding[] = [];
  const upstreams: Record<string, unknown> = {};
  if (!isFields(raw.upstreams)) return { raw, files, problems, findings };
  for (const [name, upstream] of Object.entries(raw.upstreams)) {
    upstreams[name] = upstream;
    if (!isFields(upstream) || typeof upstream.script !== "string") continue;
    const file = resolve(directory, upstream.script);
    const script = readText(file);
    if (script === undefined) {
      const message = `there is no file ${file}; write the script, or leave the key out for the demo`;
      problems.push({ path: ["upstreams", name, "script"], message });
      continue;
    }
    // Several upstreams may follow one script.
    if (!files.includes(file)) {
      files.push(file);
      findings.push(...scriptFindings(script, file));
    }
    upstreams[name] = { ...upstream, script };
  }
  return { raw: { ...raw, upstreams }, files, problems, findings };
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined; // Whatever the reason, the remedy is the same.
  }
}

function scriptFindings(script: string, file: string): Finding[] {
  const checked = checkScript(script);
  if (checked.ok) return [];
  return checked.problems.map(({ path, line, message }) => ({
    file,
    line,
    path: pathText(path),
    message,
  }));
}

/** Takes relative paths from where the configuration stands. */
export function settlePaths(config: Config, directory: string): Config {
  const at = (path: string): string => resolve(directory, path);
  const upstreams: Config["upstreams"] = {};
  for (const [name, upstream] of Object.entries(config.upstreams))
    upstreams[name] =
      upstream.dialect === "codex" ? { ...upstream, home: at(upstream.home) } : upstream;
  const { store, telemetry } = config;
  return {
    ...config,
    upstreams,
    store: store.kind === "sqlite" ? { ...store, path: at(store.path) } : store,
    telemetry: {
      usage_log: telemetry.usage_log && at(telemetry.usage_log),
      event_log: telemetry.event_log && at(telemetry.event_log),
    },
  };
}
