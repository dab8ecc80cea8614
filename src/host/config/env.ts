import { append } from "../../turn/append.ts";
import { nearest } from "../../diagnostics/nearest.ts";
import { outputModes } from "../../gateway/run/rules.ts";
import { isFields } from "../../json/json.ts";
import type { Finding } from "./config-file.ts";
import { isReplaced } from "./older-proxy.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The only place where the process's environment is read. */
export const environment = (): Environment => process.env;

/** Whether npx runs us, whose shell passes no signal on. */
export const isByNpx = (env: Environment): boolean => env["npm_lifecycle_event"] === "npx";

type Flag = {
  /** Where it stands in the configuration; none: it is accepted and has nothing to switch. */
  readonly path?: readonly [string, string];
  /** Undefined: it cannot be read. */
  readonly read: (text: string) => unknown;
  readonly wants: string;
};

const text = { read: (raw: string) => raw, wants: "text" };
const keys = { path: ["server", "keys"], read: (raw: string) => [raw], wants: "a key" } as const;
const host = { path: ["server", "host"], ...text } as const;

const flag = { read: readSwitch, wants: "`true` or `false`" };
const count = {
  read: (raw: string) => (/^\d{1,9}$/.test(raw.trim()) ? Number(raw) : undefined),
  wants: "a whole number, 0 or more",
};
const oneOf = (words: ReadonlyMap<string, string>): Pick<Flag, "read" | "wants"> => ({
  read: (raw) => words.get(raw.trim().toLowerCase()),
  wants: [...new Set(words.values())].map((word) => `\`${word}\``).join(" or "),
});

/**
 * The variables that override the configuration file. Where two name one thing,
 * the later row wins; keys add up. The `PROXY_*` rows keep the meaning they had
 * in the older Codex proxy.
 */
export const flags: Readonly<Record<string, Flag>> = {
  HOST: host,
  PROXY_HOST: host,
  PORT: {
    path: ["server", "port"],
    read: (raw) => {
      const port = count.read(raw);
      return port !== undefined && port <= 65_535 ? port : undefined;
    },
    wants: "a port, 0 to 65535",
  },
  PATCHBAY_API_KEY: keys,
  PROXY_API_KEY: keys,
  PROXY_CORS_ALLOWED_ORIGINS: {
    path: ["server", "origins"],
    read: (raw) => raw.split(",").flatMap((one) => one.trim() || []),
    wants: "a list of origins",
  },
  PROXY_TOOL_BLOCK_MAX: { path: ["tools", "block_max"], ...count },
  PROXY_TOOL_BLOCK_DEDUP: { path: ["tools", "block_dedup"], ...flag },
  PROXY_TOOL_BLOCK_DELIMITER: {
    path: ["tools", "block_delimiter"],
    read: readDelimiter,
    wants: "text",
  },
  PROXY_STOP_AFTER_TOOLS: { path: ["tools", "stop_after"], ...flag },
  PROXY_STOP_AFTER_TOOLS_MODE: {
    path: ["tools", "stop_after_mode"],
    ...oneOf(new Map(["first", "burst"].map((mode) => [mode, mode]))),
  },
  PROXY_STOP_AFTER_TOOLS_GRACE_MS: { path: ["tools", "stop_after_grace_ms"], ...count },
  PROXY_SUPPRESS_TAIL_AFTER_TOOLS: { path: ["tools", "suppress_tail"], ...flag },
  // Without it the older proxy did not ask for parallel calls, and passed on those that came.
  PROXY_ENABLE_PARALLEL_TOOL_CALLS: {
    path: ["tools", "parallel"],
    read: (raw) => readSwitch(raw) || (readSwitch(raw) === false ? "unrequested" : undefined),
    wants: flag.wants,
  },
  PROXY_SSE_KEEPALIVE_MS: { path: ["server", "keepalive_ms"], ...count },
  PROXY_TEXT_CALLS: { path: ["tools", "text_calls"], ...flag },
  PROXY_OUTPUT_MODE: {
    path: ["tools", "output"],
    ...oneOf(outputModes),
  },
  // Every answer is folded from a stream, so there is nothing left to force.
  PROXY_FORCE_JSONRPC_STREAM_FOR_NONSTREAM: flag,
  TOKEN_LOG_PATH: { path: ["telemetry", "usage_log"], ...text },
  PROTO_LOG_PATH: { path: ["telemetry", "event_log"], ...text },
};

/** True if the variable overrides a setting. */
export const isFlag = (name: string): boolean => Object.hasOwn(flags, name);

/** One value that the environment sets. */
export type Setting = {
  readonly name: string;
  readonly path: readonly [string, string];
  readonly value: unknown;
};

/** What the environment overrides. An empty variable is one that is not set. */
export function readFlags(env: Environment): {
  readonly settings: readonly Setting[];
  readonly findings: readonly Finding[];
} {
  const settings: Setting[] = [];
  const findings: Finding[] = [];
  for (const [name, { path, read, wants }] of Object.entries(flags)) {
    const raw = env[name];
    if (raw === undefined || raw === "") continue;
    const value = read(raw);
    if (value === undefined)
      findings.push({
        path: `environment variable ${name}`,
        message: `\`${raw.slice(0, 80)}\` is not ${wants}; change it or unset it`,
      });
    else if (path !== undefined) settings.push({ name, path, value });
  }
  return { settings, findings };
}

/**
 * What is named like one of these variables and is none of them, nor one that a
 * file refers to. Others name theirs so too, so it is told of only where its
 * value would do under the name that was most likely meant.
 */
export function misspelt(env: Environment, referred: ReadonlySet<string>): string[] {
  return Object.entries(env).flatMap(([name, raw = ""]) => {
    if (raw === "" || !family.test(name) || isFlag(name) || isReplaced(name)) return [];
    if (referred.has(name)) return [];
    const near = nearest(name.replace(family, ""), [...meant.keys()]);
    const known = meant.get(near ?? "");
    if (known === undefined || flags[known]?.read(raw) === undefined) return [];
    return [`${name} is set, but nothing reads it; did you mean ${known}?`];
  });
}

const family = /^(?:PATCHBAY|PROXY)_/;

/** By the name without its family. Where two name one thing, the first is the one to tell of. */
const meant: ReadonlyMap<string, string> = new Map(
  Object.keys(flags)
    .toReversed()
    .map((name) => [name.replace(family, ""), name]),
);

/** Lays the environment's values over what a file says. */
export function applySettings(
  raw: Readonly<Record<string, unknown>>,
  settings: readonly Setting[],
): Record<string, unknown> {
  const over: Record<string, unknown> = { ...raw };
  const given: string[] = [];
  for (const { path, value } of settings) {
    const [section, key] = path;
    const group = over[section] ?? {};
    // A section that is no group is a problem of its own, and found as such.
    if (typeof group !== "object" || Array.isArray(group)) continue;
    if (path === keys.path) append(given, value as string[]);
    else over[section] = { ...group, [key]: value };
  }
  return given.length === 0 ? over : withKeys(over, given);
}

/** Keys of the environment replace the file's, unless the file already refers to them. */
function withKeys(raw: Record<string, unknown>, given: readonly string[]): Record<string, unknown> {
  const server = (raw.server ?? {}) as Readonly<Record<string, unknown>>;
  const listed: readonly unknown[] = Array.isArray(server.keys) ? server.keys : [];
  const known = new Set(listed.map((entry) => (isFields(entry) ? entry.key : entry)));
  if (given.every((key) => known.has(key))) return raw;
  return { ...raw, server: { ...server, keys: [...new Set(given)] } };
}

function readSwitch(raw: string): boolean | undefined {
  const word = raw.trim().toLowerCase();
  if (["1", "true", "yes", "on"].includes(word)) return true;
  return ["0", "false", "no", "off"].includes(word) ? false : undefined;
}

/** `true` is a blank line, `false` nothing, anything else itself with `\n` and `\t` read. */
function readDelimiter(raw: string): string {
  const known = readSwitch(raw);
  if (known !== undefined) return known ? "\n\n" : "";
  return raw.replaceAll("\\n", "\n").replaceAll("\\t", "\t");
}
