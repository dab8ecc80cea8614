import { join, resolve } from "node:path";
import { isHttpUpstream, type Config } from "../../gateway/config.ts";
import { pathText, type Problem } from "../../diagnostics/problem.ts";
import { isFields } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { checkScript, type ScriptProblem } from "../../upstreams/scripted/script.ts";
import type { Finding } from "./config-file.ts";
import type { Environment } from "./env.ts";
import type { ConfigReader } from "./sources.ts";
import { stateFolder } from "./user-folders.ts";

export type Scripts = {
  readonly raw: Fields;
  readonly files: readonly string[];
  /** What is wrong with the configuration. */
  readonly problems: readonly Problem[];
  /** What is wrong with the scripts themselves. */
  readonly findings: readonly Finding[];
};

/** Puts the scripts that a configuration names in the place of their names. */
export function readScripts(raw: Fields, reader: ConfigReader): Scripts {
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
    const file = reader.resolve(upstream.script);
    const script = textOf(upstream.script, reader);
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

function textOf(path: string, reader: ConfigReader): string | undefined {
  try {
    return reader.readPart(path);
  } catch {
    return undefined; // Whatever the reason, the remedy is the same.
  }
}

function scriptProblems(script: unknown): readonly ScriptProblem[] {
  const checked = checkScript(script);
  return checked.ok ? [] : checked.problems;
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
