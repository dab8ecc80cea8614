/** Loads the configuration: finds it, applies environment and command line, and checks the result. */

import { dirname, resolve } from "node:path";
import { builtinDialects } from "../../dialects/registry.ts";
import { filledText } from "../../dialects/shared/loose.ts";
import { nearest } from "../../diagnostics/nearest.ts";
import type { Problem } from "../../diagnostics/problem.ts";
import { checkConfig, configSchema, type Config } from "../../gateway/config.ts";
import { isFields, ownOf } from "../../json/json.ts";
import { profileFor, profiles } from "../../profiles/profiles.ts";
import { append } from "../../turn/append.ts";
import type { Fields } from "../../turn/turn.ts";
import { proxyProblem } from "../../upstreams/http/proxy.ts";
import { isCredential } from "../../upstreams/http/secrets.ts";
import { googleCredentialsPlace } from "../platform/google-credentials.ts";
import { Problems, refusal } from "../platform/print.ts";
import { bindProblem } from "../server/address.ts";
import { findingLine, readConfigFile, type ConfigFile, type Finding } from "./config-file.ts";
import {
  applySettings,
  isFlag,
  misspeltVariables,
  readFlags,
  unreadProxyVariables,
  type Environment,
  type Setting,
} from "./env.ts";
import { defaultStore, fileProblems, readScripts, settlePaths, withCodexHome } from "./paths.ts";
import { sourceText, zeroConfig, type KeySources } from "./providers.ts";
import { type ConfigReader, findSource, type ConfigOrigin } from "./sources.ts";
import { contentDigest, saveTrust, type Digests } from "./trust.ts";

export type LoadedConfig = {
  /** Undefined for a configuration without a file. */
  readonly file?: string | undefined;
  /** Hints for the user that are no problems. */
  readonly notes: readonly string[];
  /** Problems that do not stop a gateway: files that cannot be written. */
  readonly doubts: readonly Finding[];
  /** Files of the current folder that are not used because the user has not trusted them. */
  readonly passedOver: readonly Finding[];
  /** Loads the same file again. */
  readonly again: ConfigOrigin;
  /** Digests of the files that were read. */
  readonly digests: Digests;
} & (
  | {
      readonly ok: true;
      readonly config: Config;
      /** All files that it was read from. */
      readonly files: readonly string[];
      readonly keys: KeySources;
      /** True if the file is empty. */
      readonly blank: boolean;
    }
  | { readonly ok: false; readonly findings: readonly Finding[] }
);

type Found = Pick<LoadedConfig, "file" | "passedOver" | "again" | "digests">;

export function loadConfig(origin: ConfigOrigin): LoadedConfig {
  const { file, needsTrust = false, text, wrong, reader, passedOver } = findSource(origin);
  const again = { ...origin, file, needsTrust, isAgain: true };
  const found = { file, passedOver, again, digests: reader.digests };
  const failed = (findings: readonly Finding[]): LoadedConfig => ({
    ...found,
    ok: false,
    notes: [],
    doubts: [],
    findings: [...findings, ...readFlags(origin.env).findings],
  });
  if (wrong !== undefined) return failed([wrong]);
  if (file === undefined || text === undefined) return assemble(origin, found, undefined, reader);
  const parsed = readConfigFile(
    text,
    file,
    (name) => ownOf(origin.env, name),
    (path) => reader.readPart(path),
  );
  // After a syntax error the rest of the file is guesswork.
  if (parsed.value === undefined) return failed(parsed.findings);
  const loaded = assemble(origin, found, parsed, reader);
  const part = reader.changed(file);
  return part === undefined ? loaded : failed([part]);
}

/** Notes for the user: files that were passed over, then notes on the configuration. */
export const notesOf = ({ passedOver, notes }: LoadedConfig): readonly string[] => [
  ...passedOver.map(findingLine),
  ...notes,
];

/** Names the file that a command uses, and where the keys of upstreams come from. */
export function sourceNote(loaded: LoadedConfig): readonly string[] {
  if (!loaded.ok) return [];
  const isDemo = loaded.file === undefined && Object.hasOwn(loaded.config.upstreams, "demo");
  const demo = isDemo ? "; no provider key is set, so the embedded demo answers" : "";
  return [`Configuration: ${sourceText(loaded)}${demo}`];
}

/**
 * Trusts a configuration, with the files that it names by relative paths. With `text`, the
 * content that this process has just written there, any other content is refused.
 */
export function trustConfig(file: string, env: Environment, text?: string): true {
  const loaded = loadConfig({ file, env, directory: "/", isAgain: true });
  const digest = loaded.digests.get(file);
  if (digest === undefined)
    throw new Problems(loaded.ok ? [`${file} cannot be read.`] : loaded.findings.map(findingLine));
  if (text !== undefined && digest !== contentDigest(text))
    throw refusal(
      `${file} has changed since it was written, so it is not trusted; read it, then run \`patchbay trust\`.`,
    );
  saveTrust(file, loaded.digests, env);
  return true;
}

/** A group of a configuration that is not checked yet; empty if it is missing or something else. */
const groupIn = (raw: unknown, name: string): Fields => {
  const group = isFields(raw) ? raw[name] : undefined;
  return isFields(group) ? group : {};
};

/** The upstreams of such a configuration, without values that are no groups. */
const upstreamsIn = (raw: unknown): [name: string, Fields][] =>
  Object.entries(groupIn(raw, "upstreams")).flatMap(([name, one]): [string, Fields][] =>
    isFields(one) ? [[name, one]] : [],
  );

type Path = Problem["path"];

function assemble(
  origin: ConfigOrigin,
  found: Found,
  source: ConfigFile | undefined,
  reader: ConfigReader,
): LoadedConfig {
  const { file } = found;
  const { env } = origin;
  const flags = readFlags(env);
  const settings = [...flags.settings, ...commandLine(origin)].map(fromWorkingFolder(origin));
  const parsed = withoutEmpty(readReferred(source));
  // Without upstreams, the keys in the environment are the configuration.
  const zero = isFields(parsed) && !("upstreams" in parsed) ? zeroConfig(env) : undefined;
  const filled =
    isFields(parsed) && zero !== undefined
      ? { ...parsed, upstreams: zero.upstreams, models: parsed.models ?? zero.models }
      : parsed;
  const directory = file === undefined ? origin.directory : dirname(file);
  const scripts = readScripts(isFields(filled) ? filled : {}, reader);
  const raw = isFields(filled) ? applySettings(withCodexHome(scripts.raw, env), settings) : filled;
  const checked = checkConfig(raw);
  const find = (problem: Problem): Finding => locate(problem, source, settings);
  const doubts = fileProblems(groupIn(raw, "telemetry"), groupIn(raw, "store"), directory).map(
    find,
  );
  const findings = [...(source?.findings ?? []), ...flags.findings, ...scripts.findings];
  append(findings, proxyFindings(raw, env));
  for (const problem of [
    ...(checked.ok ? [] : checked.problems),
    ...scripts.problems,
    ...profileProblems(raw),
    ...doorProblems(raw),
    ...bareVariables(raw).filter(({ path }) => source?.refers(path) !== true),
  ]) {
    const finding = find(problem);
    // A value that could not be read is reported once.
    if (!source?.findings.some(({ path }) => path === finding.path)) findings.push(finding);
  }
  const referred: ReadonlySet<string> = source?.variables ?? new Set();
  const notes = [
    ...misspeltVariables(env, referred),
    ...unreadProxyVariables(env, (name) => isFlag(name) || referred.has(name)),
  ];
  if (!checked.ok || findings.length > 0)
    return { ...found, ok: false, notes, doubts, findings: findings.toSorted(byPlace(file)) };
  const secrets = [...(source?.files ?? [])].map((path) => resolve(directory, path));
  const settled = settlePaths(checked.config, directory);
  const kept = isFields(raw) && "store" in raw ? undefined : defaultStore(env);
  return {
    ...found,
    ok: true,
    files: [...(file === undefined ? [] : [file]), ...scripts.files, ...secrets],
    keys: zero?.keys ?? keySources(parsed, source, env),
    notes: [...notes, ...(kept?.notes ?? [])],
    doubts,
    config: kept === undefined ? settled : { ...settled, store: kept.store },
    blank: source?.value === null,
  };
}

/** Sorts by the order of the file; findings elsewhere come after it. */
const byPlace =
  (file: string | undefined) =>
  (a: Finding, b: Finding): number => {
    const elsewhere = Number(a.file !== file) - Number(b.file !== file);
    return elsewhere || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
  };

const keySources = (
  parsed: unknown,
  source: ConfigFile | undefined,
  env: Environment,
): KeySources =>
  Object.fromEntries(
    upstreamsIn(parsed).flatMap(([name, upstream]) => {
      const { api_key: key } = upstream;
      if (typeof key === "string" && key !== "")
        return [[name, source?.sourceOf(["upstreams", name, "api_key"]) ?? "the file"]];
      return namesCredentials(upstream) ? [[name, googleCredentialsPlace(env)]] : [];
    }),
  );

/** True if the profile of an upstream names credentials of the host. */
function namesCredentials({ profile, dialect, capabilities, headers }: Fields): boolean {
  if (isFields(headers) && Object.keys(headers).some(isCredential)) return false;
  if (isFields(capabilities) && capabilities.credentials !== undefined) return true;
  const [name, own] = [filledText(profile), filledText(dialect)];
  return own !== undefined && profileFor(name, own)?.credentials !== undefined;
}

/** Resolves a path in a variable from where the process was started, not from where the file is. */
const fromWorkingFolder =
  ({ directory }: ConfigOrigin) =>
  (setting: Setting): Setting =>
    setting.path[0] === "telemetry" && typeof setting.value === "string"
      ? { ...setting, value: resolve(directory, setting.value) }
      : setting;

/** Checks the address of an unchecked configuration, so that its problem is reported with the others. */
function doorProblems(raw: unknown): Problem[] {
  const { host = "127.0.0.1", keys = [] } = groupIn(raw, "server");
  if (typeof host !== "string" || host === "" || !Array.isArray(keys)) return [];
  const given = keys.filter((entry: unknown) => (isFields(entry) ? entry.key : entry) || false);
  const message = bindProblem(host, given);
  return message === undefined ? [] : [{ path: ["server", "host"], message }];
}

/** Variables that would keep an upstream from being opened. */
function proxyFindings(raw: unknown, env: Environment): Finding[] {
  const messages = upstreamsIn(raw).flatMap(([, { base_url }]) => {
    const address = URL.parse(String(base_url));
    return address === null ? [] : (proxyProblem(address, env) ?? []);
  });
  return [...new Set(messages)].map((message) => ({ path: "", message }));
}

/** Reads text from the environment as a number or a switch if the schema expects one. */
function readReferred(source: ConfigFile | undefined): unknown {
  const value = source === undefined ? {} : (source.value ?? {});
  const parsed = configSchema.safeParse(value);
  if (parsed.success || source === undefined) return value;
  for (const issue of parsed.error.issues) {
    const path = issue.path as (string | number)[];
    if (issue.code !== "invalid_type" || !source.refers(path)) continue;
    const holder = path
      .slice(0, -1)
      .reduce<unknown>((group, key) => (group as Fields)[key], value) as Record<string, unknown>;
    const key = String(path.at(-1));
    const text = String(holder[key]).trim();
    const typed = meaning(text, issue.expected);
    if (typed !== undefined) holder[key] = typed;
    else if (text === "") delete holder[key];
  }
  return value;
}

function meaning(text: string, expected: string): unknown {
  if (expected === "boolean") return { true: true, false: false }[text.toLowerCase()];
  if (expected !== "number" && expected !== "int") return undefined;
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

const sections: ReadonlySet<string> = new Set(Object.keys(configSchema.shape));

/** Removes sections whose keys are all commented out. */
const withoutEmpty = (value: unknown): unknown =>
  isFields(value)
    ? Object.fromEntries(
        Object.entries(value).filter(([key, section]) => section !== null || !sections.has(key)),
      )
    : value;

const commandLine = ({ host, port }: ConfigOrigin): Setting[] =>
  Object.entries({ host, port }).flatMap(([key, value]) =>
    value === undefined ? [] : [{ name: `--${key}`, path: ["server", key], value }],
  );

/** The keys of upstreams and clients in a configuration that is not checked yet, each with its path. */
export function keysIn(raw: unknown): (readonly [path: Path, key: string])[] {
  const { keys } = groupIn(raw, "server");
  const listed: readonly unknown[] = Array.isArray(keys) ? keys : [];
  const written: (readonly [Path, unknown])[] = [
    ...upstreamsIn(raw).map(
      ([name, { api_key: key }]) => [["upstreams", name, "api_key"], key] as const,
    ),
    ...listed.map((one, at) =>
      isFields(one)
        ? ([["server", "keys", at, "key"], one.key] as const)
        : ([["server", "keys", at], one] as const),
    ),
  ];
  return written.flatMap(([path, key]) => (typeof key === "string" ? [[path, key] as const] : []));
}

/** Keys written as `$NAME`, which a shell would take for a variable and the file does not. */
const bareVariables = (raw: unknown): Problem[] =>
  keysIn(raw).flatMap(([path, value]) => {
    const [, name] = /^\$([A-Za-z_]\w*)$/.exec(value) ?? [];
    if (name === undefined) return [];
    const message = `is the literal text \`$${name}\`; write \`\${${name}}\` to use the value of that variable`;
    return [{ path, message }];
  });

/** Profiles that do not exist, or are for another dialect than the upstream's. */
const profileProblems = (raw: unknown): Problem[] =>
  upstreamsIn(raw).flatMap(([name, { profile, dialect }]) => {
    if (typeof profile !== "string" || profile === "") return [];
    const message = profileProblem(profile, dialect);
    return message === undefined ? [] : [{ path: ["upstreams", name, "profile"], message }];
  });

function profileProblem(name: string, dialect: unknown): string | undefined {
  const known = profiles.get(name);
  if (known === undefined) {
    const near = nearest(name, [...profiles.keys()]);
    const remedy =
      near === undefined
        ? `choose one of ${[...profiles.keys()].join(", ")}`
        : `did you mean \`${near}\`?`;
    return `there is no profile \`${name}\`; ${remedy}`;
  }
  // A script plays any dialect, and an unknown dialect is reported separately.
  const isSpoken =
    typeof dialect === "string" &&
    (builtinDialects.get(dialect) !== undefined || dialect === "codex");
  if (!isSpoken || profileFor(name, dialect) !== undefined) return undefined;
  return `is for the ${known.dialect} dialect, but the upstream uses ${dialect}; remove it to use the generic profile`;
}

/** Finds the place of a problem: on the command line, in the environment, or in the file. */
function locate(
  problem: Problem,
  source: ConfigFile | undefined,
  settings: readonly Setting[],
): Finding {
  const by = settings.findLast(({ path }) =>
    path.every((key, index) => problem.path[index] === key),
  );
  if (by === undefined && source !== undefined) return source.find(problem);
  const path = problem.path.join(".");
  return {
    path: by === undefined ? path : `${path} (from ${by.name})`,
    message: problem.message,
  };
}
