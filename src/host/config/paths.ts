import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isHttpUpstream, type Config } from "../../gateway/config.ts";
import { pathText, type Problem } from "../../diagnostics/problem.ts";
import { isFields } from "../../turn/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { checkScript, type ScriptProblem } from "../../upstreams/scripted/script.ts";
import type { Finding } from "./config-file.ts";

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
  if (!isFields(raw.upstreams)) return { raw, files, problems, findings };
  const upstreams = mapped(raw.upstreams, (upstream, name) => {
    if (!isFields(upstream) || upstream.script === undefined) return upstream;
    const path = ["upstreams", name, "script"];
    if (typeof upstream.script !== "string") {
      for (const { path: at, message } of scriptProblems(upstream.script))
        problems.push({ path: [...path, ...at], message });
      return upstream;
    }
    const file = resolve(directory, upstream.script);
    const script = readText(file);
    if (script === undefined) {
      const message = `there is no file ${file}; write the script, or leave the key out for the demo`;
      problems.push({ path, message });
      return upstream;
    }
    // Several upstreams may follow one script.
    if (!files.includes(file)) {
      files.push(file);
      for (const { path: at, line, message } of scriptProblems(script))
        findings.push({ file, line, path: pathText(at), message });
    }
    return { ...upstream, script };
  });
  return { raw: { ...raw, upstreams }, files, problems, findings };
}

/** The same names with other values; none of them is taken for anything but a name. */
const mapped = <From, To>(
  group: Readonly<Record<string, From>>,
  each: (value: From, name: string) => To,
): Record<string, To> =>
  Object.fromEntries(Object.entries(group).map(([name, value]) => [name, each(value, name)]));

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined; // Whatever the reason, the remedy is the same.
  }
}

function scriptProblems(script: unknown): readonly ScriptProblem[] {
  const checked = checkScript(script);
  return checked.ok ? [] : checked.problems;
}

/** Takes relative paths from where the configuration stands. */
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
