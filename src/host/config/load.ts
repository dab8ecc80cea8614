import { append } from "../../turn/append.ts";
import { dirname, resolve } from "node:path";
import { checkConfig, configSchema, type Config } from "../../gateway/config.ts";
import { builtinDialects } from "../../dialects/registry.ts";
import { nearest } from "../../diagnostics/nearest.ts";
import type { Problem } from "../../diagnostics/problem.ts";
import { isFields, ownOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { proxyProblem } from "../../upstreams/http/proxy.ts";
import { profileFor, profiles } from "../../profiles/profiles.ts";
import { bindProblem } from "../server/bind.ts";
import { findingLine, readConfigFile, type ConfigFile, type Finding } from "./config-file.ts";
import { defaultStore, storeProblem } from "./default-store.ts";
import {
  applySettings,
  isFlag,
  misspelt,
  readFlags,
  type Environment,
  type Setting,
} from "./env.ts";
import { unreadProxyVariables } from "./older-proxy.ts";
import { deadEnds, settleNotYet } from "./not-yet.ts";
import { readScripts, settlePaths, withCodexHome } from "./paths.ts";
import { sourceText, zeroConfig, type KeySources } from "./providers.ts";
import { changed, ConfigReader, findSource, type Origin } from "./sources.ts";
import type { Digests } from "./trust.ts";
import { unwritable } from "../server/turn-files.ts";

export type Loaded = {
  /** The file it came from; none: zero configuration. */
  readonly file?: string | undefined;
  /** What a user should know though nothing is wrong. */
  readonly notes: readonly string[];
  /** What is wrong with it and keeps nobody from serving: files that cannot be written. */
  readonly doubts: readonly Finding[];
  /** Files of the current folder that are not used because the user has not trusted them. */
  readonly passedOver: readonly Finding[];
  /** Loads the same file again. */
  readonly again: Origin;
  /** Digests of the files that were read. */
  readonly digests: Digests;
} & (
  | {
      readonly ok: true;
      readonly config: Config;
      /** All it was read from. */
      readonly files: readonly string[];
      readonly keys: KeySources;
      /** The file is there and says nothing. */
      readonly blank: boolean;
    }
  | { readonly ok: false; readonly findings: readonly Finding[] }
);

/** Finds the configuration, lays environment and command line over it, and checks the whole. */
export function loadConfig(origin: Origin): Loaded {
  const { source, wrong, file, needsTrust, passedOver } = findSource(origin);
  const again = { ...origin, file, needsTrust, isAgain: true };
  const digests = source?.reader.digests ?? new Map<string, string>();
  const found = { file, passedOver, again, digests };
  if (wrong !== undefined) return unread(origin, found, [wrong]);
  if (source === undefined)
    return assemble(origin, found, { reader: new ConfigReader(origin.directory) });
  const parsed = readConfigFile(
    source.text,
    source.file,
    (name) => ownOf(origin.env, name),
    (path) => source.reader.readPart(path),
  );
  // Where the syntax is broken, whatever else could be parsed of the file is guesswork.
  if (parsed.value === undefined) return unread(origin, found, parsed.findings);
  const loaded = assemble(origin, found, { source: parsed, reader: source.reader });
  const part = changed(source.file, digests.keys(), digests, source.trust);
  return part === undefined ? loaded : unread(origin, found, [part]);
}

type Found = Pick<Loaded, "file" | "passedOver" | "again" | "digests">;

const unread = ({ env }: Origin, found: Found, findings: readonly Finding[]): Loaded => ({
  ...found,
  ok: false,
  notes: [],
  doubts: [],
  findings: [...findings, ...readFlags(env).findings],
});

/** Notes for the user: files that were passed over, then notes on the configuration. */
export const notesOf = ({ passedOver, notes }: Loaded): readonly string[] => [
  ...passedOver.map(findingLine),
  ...notes,
];

/** Names the file that a command uses, and where the keys of upstreams come from. */
export function sourceNote(loaded: Loaded): readonly string[] {
  if (!loaded.ok) return [];
  const isDemo = loaded.file === undefined && Object.hasOwn(loaded.config.upstreams, "demo");
  const demo = isDemo ? ", and no provider's key is set: the embedded demo answers" : "";
  return [`Configuration: ${sourceText(loaded)}${demo}`];
}

function assemble(
  origin: Origin,
  found: Found,
  { source, reader }: { readonly source?: ConfigFile; readonly reader: ConfigReader },
): Loaded {
  const { file } = found;
  const flags = readFlags(origin.env);
  const settings = [...flags.settings, ...commandLine(origin)].map(fromHere(origin));
  const parsed = withoutEmpty(readReferred(source));
  const zero = zeroFor(parsed, origin.env);
  const keys = zero?.keys ?? keySources(parsed, source);
  const directory = file === undefined ? origin.directory : dirname(file);
  const scripts = readScripts(isFields(parsed) ? { ...parsed, ...zero?.config } : {}, reader);
  const raw = isFields(parsed)
    ? applySettings(withCodexHome(scripts.raw, origin.env), settings)
    : parsed;

  const checked = checkConfig(raw);
  const settled = checked.ok ? settleNotYet(checked.config) : undefined;
  const problems = [
    ...(checked.ok ? [] : checked.problems),
    ...[scripts.problems, profileProblems(raw), doorProblems(raw), deadEnds(raw)].flat(),
    ...bareVariables(raw).filter(({ path }) => source?.refers(path) !== true),
  ];
  const find = (problem: Problem): Finding => locate(problem, source, settings);
  const doubts = fileProblems(raw, directory).map(find);
  const findings = [...(source?.findings ?? []), ...flags.findings, ...scripts.findings];
  append(findings, proxyFindings(raw, origin.env));
  for (const finding of problems.map(find))
    // A value that could not even be read has been told; what it is not is no news.
    if (!source?.findings.some(({ path }) => path === finding.path)) findings.push(finding);
  const referred: ReadonlySet<string> = source?.variables ?? new Set();
  const notes = [
    ...misspelt(origin.env, referred),
    ...unreadProxyVariables(origin.env, (name) => isFlag(name) || referred.has(name)),
  ];
  append(notes, settled?.notes ?? []);
  if (settled === undefined || findings.length > 0)
    return { ...found, ok: false, notes, doubts, findings: findings.toSorted(byPlace(file)) };
  const secrets = [...(source?.files ?? [])].map((path) => resolve(directory, path));
  const files = [...(file === undefined ? [] : [file]), ...scripts.files, ...secrets];
  const settledPaths = settlePaths(settled.config, directory);
  const kept = isFields(raw) && "store" in raw ? undefined : defaultStore(origin.env);
  append(notes, kept?.notes ?? []);
  const config = kept === undefined ? settledPaths : { ...settledPaths, store: kept.store };
  return { ...found, ok: true, files, keys, notes, doubts, config, blank: source?.value === null };
}

/** In the order of the file; what stands elsewhere comes after it. */
const byPlace =
  (file: string | undefined) =>
  (a: Finding, b: Finding): number => {
    const elsewhere = Number(a.file !== file) - Number(b.file !== file);
    return elsewhere || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
  };

/** What the environment's keys come to, for a configuration that names no upstream. */
function zeroFor(
  parsed: unknown,
  env: Environment,
): { readonly config: Fields; readonly keys: KeySources } | undefined {
  if (!isFields(parsed) || "upstreams" in parsed) return undefined;
  const { upstreams, models, keys } = zeroConfig(env);
  return { config: { upstreams, models: parsed.models ?? models }, keys };
}

function keySources(parsed: unknown, source: ConfigFile | undefined): KeySources {
  const upstreams = isFields(parsed) && isFields(parsed.upstreams) ? parsed.upstreams : {};
  return Object.fromEntries(
    Object.entries(upstreams).flatMap(([name, upstream]) =>
      isFields(upstream) && typeof upstream.api_key === "string" && upstream.api_key !== ""
        ? [[name, source?.sourceOf(["upstreams", name, "api_key"]) ?? "the file"]]
        : [],
    ),
  );
}

/** A path in a variable means where the process was started, not where the file is. */
const fromHere =
  ({ directory }: Origin) =>
  (setting: Setting): Setting =>
    setting.path[0] === "telemetry" && typeof setting.value === "string"
      ? { ...setting, value: resolve(directory, setting.value) }
      : setting;

/** Looks at what is there, so that it is told with the rest even where the rest is wrong. */
function doorProblems(raw: unknown): Problem[] {
  const server = isFields(raw) && isFields(raw.server) ? raw.server : {};
  const { host = "127.0.0.1", keys = [] } = server;
  if (typeof host !== "string" || host === "" || !Array.isArray(keys)) return [];
  const given = keys.filter((entry: unknown) => (isFields(entry) ? entry.key : entry) || false);
  const message = bindProblem(host, given);
  return message === undefined ? [] : [{ path: ["server", "host"], message }];
}

/** Log files and a store that could not be added to. Nothing is written. */
function fileProblems(raw: unknown, directory: string): Problem[] {
  const { telemetry, store } = isFields(raw) ? raw : {};
  const named: [Problem["path"], unknown][] = isFields(telemetry)
    ? Object.entries(telemetry)
        .filter(([key]) => key !== "recording")
        .map(([key, path]) => [["telemetry", key], path])
    : [];
  if (isFields(store)) named.push([["store", "path"], store.path]);
  return named.flatMap(([at, path]) => {
    if (typeof path !== "string" || path === "") return [];
    const problemOf = at[0] === "store" ? storeProblem : unwritable;
    const message = problemOf(resolve(directory, path));
    return message === undefined ? [] : [{ path: at, message }];
  });
}

/** Variables that would keep an upstream from being opened. */
function proxyFindings(raw: unknown, env: Environment): Finding[] {
  const upstreams = isFields(raw) && isFields(raw.upstreams) ? Object.values(raw.upstreams) : [];
  const messages = upstreams.flatMap((upstream) => {
    const address = isFields(upstream) ? URL.parse(String(upstream.base_url)) : null;
    return address === null ? [] : (proxyProblem(address, env) ?? []);
  });
  return [...new Set(messages)].map((message) => ({ path: "", message }));
}

/** What came from the environment is text; where a number or a switch belongs it is read as one. */
function readReferred(source: ConfigFile | undefined): unknown {
  const value = source === undefined ? {} : (source.value ?? {});
  const parsed = configSchema.safeParse(value);
  if (parsed.success || source === undefined) return value;
  for (const issue of parsed.error.issues) {
    const path = issue.path as (string | number)[];
    if (issue.code !== "invalid_type" || !source.refers(path)) continue;
    const holder = path.slice(0, -1).reduce<unknown>((group, key) => (group as Fields)[key], value);
    const key = path.at(-1) ?? "";
    const text = String((holder as Fields)[key]).trim();
    const meant = meaning(text, issue.expected);
    if (meant !== undefined) (holder as Record<string | number, unknown>)[key] = meant;
    else if (text === "") delete (holder as Record<string | number, unknown>)[key];
  }
  return value;
}

function meaning(text: string, expected: string): unknown {
  if (expected === "boolean") return { true: true, false: false }[text.toLowerCase()];
  if (expected !== "number" && expected !== "int") return undefined;
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

const sections: ReadonlySet<string> = new Set(Object.keys(configSchema.shape));

/** A section whose every key is commented out is a section left out. */
const withoutEmpty = (value: unknown): unknown =>
  isFields(value)
    ? Object.fromEntries(
        Object.entries(value).filter(([key, section]) => section !== null || !sections.has(key)),
      )
    : value;

function commandLine({ host, port }: Origin): Setting[] {
  const settings: Setting[] = [];
  if (host !== undefined) settings.push({ name: "--host", path: ["server", "host"], value: host });
  if (port !== undefined) settings.push({ name: "--port", path: ["server", "port"], value: port });
  return settings;
}

/** Keys that a shell would take for variables, and the file does not: they would be sent as they are. */
function bareVariables(raw: unknown): Problem[] {
  const { upstreams, server } = isFields(raw) ? raw : {};
  const keys = isFields(server) && Array.isArray(server.keys) ? (server.keys as unknown[]) : [];
  const written: [Problem["path"], unknown][] = [
    ...Object.entries(isFields(upstreams) ? upstreams : {}).map(
      ([name, one]): [Problem["path"], unknown] => [
        ["upstreams", name, "api_key"],
        isFields(one) ? one.api_key : undefined,
      ],
    ),
    ...keys.map((one, at): [Problem["path"], unknown] =>
      isFields(one) ? [["server", "keys", at, "key"], one.key] : [["server", "keys", at], one],
    ),
  ];
  return written.flatMap(([path, value]) => {
    const [, name] = /^\$([A-Za-z_]\w*)$/.exec(typeof value === "string" ? value : "") ?? [];
    if (name === undefined) return [];
    const message = `is \`$${name}\` as it is written; write \`\${${name}}\` for the value of that variable`;
    return [{ path, message }];
  });
}

/** A profile must be one that there is, in the upstream's dialect. */
function profileProblems(raw: unknown): Problem[] {
  const upstreams = isFields(raw) && isFields(raw.upstreams) ? raw.upstreams : {};
  const problems: Problem[] = [];
  for (const [name, upstream] of Object.entries(upstreams)) {
    const { profile, dialect } = isFields(upstream) ? upstream : {};
    if (typeof profile !== "string" || profile === "") continue;
    const message = profileProblem(profile, dialect);
    if (message !== undefined) problems.push({ path: ["upstreams", name, "profile"], message });
  }
  return problems;
}

function profileProblem(name: string, dialect: unknown): string | undefined {
  const known = profiles.get(name);
  if (known === undefined) {
    const near = nearest(name, [...profiles.keys()]);
    const remedy =
      near === undefined
        ? `there are ${[...profiles.keys()].join(", ")}`
        : `did you mean \`${near}\`?`;
    return `there is no profile \`${name}\`; ${remedy}`;
  }
  // Whatever else a dialect may be is told where it stands.
  if (typeof dialect !== "string" || !isSpoken(dialect)) return undefined;
  if (profileFor(name, dialect) !== undefined) return undefined;
  return `is for the ${known.dialect} dialect, and the upstream speaks ${dialect}; leave it out for the generic one`;
}

/** A script plays any dialect. */
const isSpoken = (dialect: string): boolean =>
  builtinDialects.get(dialect) !== undefined || dialect === "codex";

/** Where a problem is: on the command line, in the environment, or in the file. */
function locate(
  problem: Problem,
  source: ConfigFile | undefined,
  settings: readonly Setting[],
): Finding {
  const by = settings.findLast(({ path }) =>
    path.every((key, index) => problem.path[index] === key),
  );
  if (by !== undefined || source === undefined) {
    const path = problem.path.join(".");
    return {
      path: by === undefined ? path : `${path} (from ${by.name})`,
      message: problem.message,
    };
  }
  return source.find(problem);
}
