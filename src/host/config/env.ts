import { append } from "../../turn/append.ts";
import { nearest } from "../../diagnostics/nearest.ts";
import { outputModes } from "../../gateway/run/rules.ts";
import { isFields } from "../../json/json.ts";
import type { Finding } from "./config-file.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The only place where the process's environment is read. */
export const environment = (): Environment => process.env;

/** True if npx runs this process: its shell forwards no signals. */
export const isByNpx = (env: Environment): boolean => env["npm_lifecycle_event"] === "npx";

type Flag = {
  /** Its path in the configuration; left out: it is accepted and changes nothing. */
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
 * The variables that override the configuration file. If two set one value, the later row wins;
 * keys add up. The `PROXY_*` rows mean the same as in the older Codex proxy.
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

/** The values that the environment sets, and the variables that cannot be read. An empty variable is not set. */
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
 * Notes on variables with a similar name that nothing reads. Other programs use such names too, so
 * a variable is noted only if its value would fit the nearest name.
 */
export function misspeltVariables(env: Environment, referred: ReadonlySet<string>): string[] {
  return Object.entries(env).flatMap(([name, raw = ""]) => {
    if (raw === "" || !PREFIX.test(name) || isFlag(name) || replacementFor(name) !== undefined)
      return [];
    if (referred.has(name)) return [];
    const near = nearest(name.replace(PREFIX, ""), [...byBareName.keys()]);
    const known = byBareName.get(near ?? "");
    if (known === undefined || flags[known]?.read(raw) === undefined) return [];
    return [`${name} is set, but Patchbay does not read it; did you mean ${known}?`];
  });
}

const PREFIX = /^(?:PATCHBAY|PROXY)_/;

/** The variables by their names without the prefix. If two rows share a name, the first is suggested. */
const byBareName: ReadonlyMap<string, string> = new Map(
  Object.keys(flags)
    .toReversed()
    .map((name) => [name.replace(PREFIX, ""), name]),
);

/** Puts the values of the environment over those of a file. */
export function applySettings(
  raw: Readonly<Record<string, unknown>>,
  settings: readonly Setting[],
): Record<string, unknown> {
  const over: Record<string, unknown> = { ...raw };
  const given: string[] = [];
  for (const { path, value } of settings) {
    const [section, key] = path;
    const group = over[section] ?? {};
    // A section that is no group is reported by the check of the configuration.
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

/** `true` is a blank line, `false` no text; in other text `\n` and `\t` are read as escapes. */
function readDelimiter(raw: string): string {
  const known = readSwitch(raw);
  if (known !== undefined) return known ? "\n\n" : "";
  return raw.replaceAll("\\n", "\n").replaceAll("\\t", "\t");
}

const always = "no setting is needed, because this is always on";
const codexOwn =
  "Patchbay starts Codex with its own configuration, which turns off the tools of Codex";
const recorded = "run `patchbay record` to record turns";
const otel = "start the process with an OpenTelemetry SDK (docs/guides/watching.md)";
const childProcess = "no setting is needed, because Patchbay starts and replaces Codex processes";

/**
 * The variables of the older Codex proxy that nothing reads here, with their replacements. A key
 * that ends in `*` matches every name with that prefix.
 */
const replacements: Readonly<Record<string, string>> = {
  PROXY_TRUST_PROXY: "no setting is needed, because Patchbay trusts no headers of proxies",
  PROXY_ENV: "write one configuration file for each environment, and name it with `--config`",
  PROXY_PROTECT_MODELS: "set `server.keys`, which protects every route, including `/v1/models`",
  PROXY_CODEX_WORKDIR: "no setting is needed, because Codex runs without a working folder",
  PROXY_SANDBOX_MODE: codexOwn,
  PROXY_APPROVAL_POLICY: codexOwn,
  PROXY_USE_APP_SERVER: "configure an upstream with `dialect: codex`, which uses the app-server",
  PROXY_ENABLE_RESPONSES: always,
  PROXY_DEFAULT_STREAM: "clients set `stream` in each request",
  PROXY_RESPONSES_OUTPUT_MODE:
    "set `tools.output` or `PROXY_OUTPUT_MODE`, which applies to every door",
  PROXY_RESPONSES_DEFAULT_MAX_TOKENS: "clients set `max_output_tokens` in each request",
  PROXY_COPILOT_AUTO_DETECT: "set `tools.output`, or send `x-proxy-output-mode`",
  PROXY_IGNORE_CLIENT_SYSTEM_PROMPT:
    "Patchbay always sends the instructions of the client to the model",
  PROXY_INGRESS_GUARDRAIL: "Patchbay adds no instructions to a request",
  "PROXY_TITLE_*": "Patchbay answers requests for titles like all others",
  "PROXY_AUTH_LOGIN_URL*":
    "sign in with `codex login`; `patchbay doctor` reports if a login is needed",
  PROXY_TIMEOUT_MS: "set `upstreams.NAME.timeouts.headers` and `.idle`",
  PROXY_IDLE_TIMEOUT_MS: "set `upstreams.NAME.timeouts.idle`",
  PROXY_STREAM_IDLE_TIMEOUT_MS: "set `upstreams.NAME.timeouts.idle`",
  PROXY_NONSTREAM_TRUNCATE_AFTER_MS: "Patchbay never truncates an answer to save time",
  PROXY_KILL_ON_DISCONNECT: always,
  PROXY_ENABLE_CORS: "set `server.origins` to the origins of the pages that may send requests",
  PROXY_LOG_CORS_ORIGIN: "the log contains refused origins",
  PROXY_ENABLE_METRICS: always,
  "PROXY_METRICS_*": "`/metrics` needs no key; restrict access to it with a reverse proxy",
  PROXY_MAINTENANCE_MODE: "stop the process; `/readyz` fails before the process ends",
  PROXY_SANITIZE_METADATA: "answers contain no metadata of Codex",
  "PROXY_CAPTURE_*": recorded,
  "PROXY_RATE_LIMIT_*": "set `limits.requests_per_minute`",
  PROXY_SSE_MAX_CONCURRENCY: "set `limits.concurrent_turns`, and `seats` of a Codex upstream",
  "PROXY_TEST_*": "configure an upstream with `dialect: scripted`, which gives prepared answers",
  PROXY_USAGE_ALLOW_UNAUTH: "`/v1/usage` needs a key if `server.keys` has keys",
  PROXY_MAX_PROMPT_TOKENS:
    "set `limits.tokens_per_minute`; the upstream refuses a prompt that is too long for its model",
  PROXY_MAX_CHAT_CHOICES: "the upstream limits the number of choices",
  PROXY_LOG_PROTO: "set `PROTO_LOG_PATH`, which turns on that log",
  "PROXY_TRACE_*": recorded,
  PROXY_DEBUG_WIRE: recorded,
  PROXY_ENABLE_OTEL: otel,
  "PROXY_OTEL_*": otel,
  "PROXY_DISABLE_INTERNAL_TOOLS*": codexOwn,
  PROXY_ENABLE_INTERNAL_TOOLS_SHIM: codexOwn,
  PROXY_ENABLE_WEB_SEARCH_REQUEST: codexOwn,
  "PROXY_RESPONSES_IDEMPOTENCY*": "Patchbay answers each request, also a repeated one",
  CODEX_MODEL: "set `models` in the configuration file",
  CODEX_BIN: "set `upstreams.NAME.command` of a Codex upstream",
  CODEX_HOME: "set `upstreams.NAME.home` of a Codex upstream to a folder that is only for Patchbay",
  CODEX_FORCE_PROVIDER: "set `upstreams.NAME.base_url` of a Codex upstream",
  CODEX_APPROVAL_POLICY: codexOwn,
  WORKER_MAX_CONCURRENCY: "set `upstreams.NAME.seats` and `.processes` of a Codex upstream",
  WORKER_REQUEST_TIMEOUT_MS: "set `upstreams.NAME.timeouts` of a Codex upstream",
  "WORKER_*": childProcess,
  "SANITIZER_LOG_*": "answers contain no metadata of Codex",
};

/** Warnings about variables of the older proxy that are set and that nothing reads. */
export function unreadProxyVariables(
  env: Environment,
  isRead: (name: string) => boolean,
): readonly string[] {
  const set = Object.keys(env).filter((name) => (env[name] ?? "") !== "");
  // Other programs use the names without the prefix too.
  if (!set.some((name) => name.startsWith("PROXY_"))) return [];
  return set
    .filter((name) => !isRead(name))
    .toSorted()
    .flatMap((name) => {
      const instead = replacementFor(name);
      return instead === undefined
        ? []
        : [`${name} is set, but Patchbay does not read it: ${instead}.`];
    });
}

function replacementFor(name: string): string | undefined {
  const exact = Object.hasOwn(replacements, name) ? replacements[name] : undefined;
  if (exact !== undefined) return exact;
  const prefix = Object.keys(replacements).find(
    (key) => key.endsWith("*") && name.startsWith(key.slice(0, -1)),
  );
  return prefix === undefined ? undefined : replacements[prefix];
}
