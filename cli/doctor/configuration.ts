/** What is wrong with the configuration, as the process that runs the gateway reads it. */

import { statSync } from "node:fs";
import {
  type Config,
  findingLine,
  keysText,
  loadConfig,
  LONGEST,
  type Origin,
  readConfigFile,
} from "../../src/configuration.ts";
import { isFields, readText } from "../../src/terminal.ts";
import { append } from "../../src/inspection.ts";
import type { Check } from "../../src/observe/console/wire-checks.ts";
import { wordsOfFinding } from "./check.ts";

export type ConfigState = {
  readonly checks: readonly Check[];
  readonly file: string | undefined;
  /** The variables of the environment that the file asks for. */
  readonly variables: ReadonlySet<string>;
  /** What it comes to, where it is right. */
  readonly config: Config | undefined;
};

/** `running`: the configuration that a gateway has taken up; none where there is no gateway. */
export function examineConfig(origin: Origin, running?: Config): ConfigState {
  const loaded = loadConfig(origin);
  const { file } = loaded;
  const subject = file ?? "the environment";
  const findings = [...(loaded.ok ? [] : loaded.findings), ...loaded.doubts];
  const checks: Check[] = findings.map((finding) => ({
    group: "configuration",
    id: "configuration.problem",
    subject: finding.path === "" ? subject : finding.path,
    outcome: "wrong",
    ...wordsOfFinding(findingLine(finding)),
  }));
  for (const finding of loaded.passedOver)
    checks.push({
      ...said("note", finding.file ?? subject, findingLine(finding)),
      id: "configuration.untrusted",
    });
  for (const note of loaded.notes) checks.push(said("note", subject, note));
  if (findings.length === 0)
    checks.push({
      group: "configuration",
      id: "configuration.valid",
      subject,
      outcome: "ok",
      evidence: validText(file, loaded.ok ? keysText(loaded.keys) : ""),
    });
  const config = loaded.ok ? loaded.config : undefined;
  if (running !== undefined && file !== undefined) append(checks, takenUp(file, config, running));
  const read = file === undefined ? undefined : readable(file);
  if (file !== undefined && read !== undefined) append(checks, permissionChecks(file, read));
  return {
    checks,
    file,
    variables: read === undefined ? new Set() : variablesIn(file ?? "", read),
    config,
  };
}

const said = (outcome: Check["outcome"], subject: string, note: string): Check => ({
  group: "configuration",
  id: "configuration.note",
  subject,
  outcome,
  ...wordsOfFinding(note),
});

const validText = (file: string | undefined, keys: string): string => {
  const what =
    file === undefined
      ? "no file: keys in the environment are the configuration"
      : "the file has no problems";
  return keys === "" ? what : `${what} (${keys})`;
};

/** A gateway goes on with what it has where a changed file is wrong, or cannot be taken up at once. */
function takenUp(file: string, config: Config | undefined, running: Config): Check[] {
  const id = "configuration.taken_up";
  if (config === undefined)
    return [
      {
        group: "configuration",
        id,
        subject: file,
        outcome: "wrong",
        evidence: "the gateway goes on with an earlier version of the file",
        remedy: "Correct the file: the gateway takes it up by itself.",
      },
    ];
  // The port is the one that was given by the system where the file says 0.
  const { server, ...rest } = config;
  const { server: runningServer, ...runningRest } = running;
  const same =
    JSON.stringify(rest) === JSON.stringify(runningRest) &&
    JSON.stringify({ ...server, port: 0 }) === JSON.stringify({ ...runningServer, port: 0 });
  if (same)
    return [
      {
        group: "configuration",
        id,
        subject: file,
        outcome: "ok",
        evidence: "the gateway runs on it",
      },
    ];
  return [
    {
      group: "configuration",
      id,
      subject: file,
      outcome: "note",
      evidence: "the file says something else than what the gateway runs on",
      remedy:
        "Wait a moment for it to be taken up; what a running gateway cannot change needs a restart.",
    },
  ];
}

function readable(file: string): string | undefined {
  try {
    return readText(file, { limit: LONGEST });
  } catch {
    return undefined; // The loader has told why, or it is a pipe and was read.
  }
}

const variablesIn = (file: string, text: string): ReadonlySet<string> =>
  readConfigFile(text, file, () => "").variables;

/** Others on this machine: the group's and everybody's bits. */
const READABLE = 0o044;
const WRITABLE = 0o022;

function permissionChecks(file: string, text: string): Check[] {
  // Windows has no such bits, and Node makes some up.
  if (process.platform === "win32") return [];
  const { mode } = statSync(file);
  const id = "configuration.permissions";
  const octal = (mode & 0o777).toString(8);
  if ((mode & WRITABLE) !== 0)
    return [
      {
        group: "configuration",
        id,
        subject: file,
        outcome: "wrong",
        evidence: `others on this machine may change it (mode ${octal}), and with it where keys are sent`,
        remedy: `chmod go-w ${file}`,
      },
    ];
  const literal = literalKeys(file, text);
  if ((mode & READABLE) === 0 || literal.length === 0) return [];
  return [
    {
      group: "configuration",
      id,
      subject: file,
      outcome: "wrong",
      evidence: `${literal.join(", ")} ${literal.length === 1 ? "stands" : "stand"} in it, and others on this machine may read it (mode ${octal})`,
      remedy: `chmod 600 ${file}`,
    },
  ];
}

/** The paths of keys that are written out instead of referring to a variable. */
function literalKeys(file: string, text: string): string[] {
  const source = readConfigFile(text, file, () => "");
  const { upstreams, server } = isFields(source.value) ? source.value : {};
  const places: (readonly (string | number)[])[] = [];
  for (const [name, upstream] of Object.entries(isFields(upstreams) ? upstreams : {}))
    if (isFields(upstream) && typeof upstream.api_key === "string")
      places.push(["upstreams", name, "api_key"]);
  const keys = isFields(server) && Array.isArray(server.keys) ? (server.keys as unknown[]) : [];
  for (const [at, entry] of keys.entries()) {
    if (typeof entry === "string") places.push(["server", "keys", at]);
    else if (isFields(entry)) places.push(["server", "keys", at, "key"]);
  }
  return places.filter((path) => !source.refers(path)).map((path) => path.join("."));
}
