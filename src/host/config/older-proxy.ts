import type { Environment } from "./env.ts";

const always = "nothing to set: it is always so";
const codexOwn = "Patchbay gives Codex a configuration of its own that switches its tools off";
const recorded = "`patchbay record` records turns";
const otel = "start the process with an OpenTelemetry SDK (docs/operations.md)";
const childProcess = "nothing to set: Patchbay starts and replaces Codex processes by itself";

/**
 * The variables of the older Codex proxy that nothing reads here, with what takes
 * their place. A key that ends in `*` stands for every name that begins so.
 */
const replacements: Readonly<Record<string, string>> = {
  PROXY_TRUST_PROXY: "nothing to set: no header of a proxy in front is trusted",
  PROXY_ENV: "use one configuration file for each environment (`--config`)",
  PROXY_PROTECT_MODELS: "`server.keys` protects every route, `/v1/models` among them",
  PROXY_CODEX_WORKDIR: "nothing to set: Codex runs without a working folder",
  PROXY_SANDBOX_MODE: codexOwn,
  PROXY_APPROVAL_POLICY: codexOwn,
  PROXY_USE_APP_SERVER: "an upstream with `dialect: codex` is the app-server",
  PROXY_ENABLE_RESPONSES: always,
  PROXY_DEFAULT_STREAM: "clients set `stream` themselves, as the OpenAI API has it",
  PROXY_RESPONSES_OUTPUT_MODE: "`tools.output` (`PROXY_OUTPUT_MODE`) holds for every door",
  PROXY_RESPONSES_DEFAULT_MAX_TOKENS: "clients set `max_output_tokens` themselves",
  PROXY_COPILOT_AUTO_DETECT: "set `tools.output`, or send `x-proxy-output-mode`",
  PROXY_IGNORE_CLIENT_SYSTEM_PROMPT: "instructions of the client always reach the model",
  PROXY_INGRESS_GUARDRAIL: "no instructions are added to a request",
  "PROXY_TITLE_*": "requests for titles are answered like any other",
  "PROXY_AUTH_LOGIN_URL*": "sign in with `codex login`; `patchbay doctor` says if it is needed",
  PROXY_TIMEOUT_MS: "`upstreams.NAME.timeouts.headers` and `.idle`",
  PROXY_IDLE_TIMEOUT_MS: "`upstreams.NAME.timeouts.idle`",
  PROXY_STREAM_IDLE_TIMEOUT_MS: "`upstreams.NAME.timeouts.idle`",
  PROXY_NONSTREAM_TRUNCATE_AFTER_MS: "an answer is never cut short to save time",
  PROXY_KILL_ON_DISCONNECT: always,
  PROXY_ENABLE_CORS: "`server.origins` lists the pages that may ask",
  PROXY_LOG_CORS_ORIGIN: "a refused origin is in the log",
  PROXY_ENABLE_METRICS: always,
  "PROXY_METRICS_*": "`/metrics` needs no key; keep its port from strangers by a proxy in front",
  PROXY_MAINTENANCE_MODE: "it only set a gauge; stop the process, and `/readyz` fails first",
  PROXY_SANITIZE_METADATA: "answers contain no metadata of Codex",
  "PROXY_CAPTURE_*": recorded,
  "PROXY_RATE_LIMIT_*": "`limits.requests_per_minute`",
  PROXY_SSE_MAX_CONCURRENCY: "`limits.concurrent_turns`, and `seats` of a Codex upstream",
  "PROXY_TEST_*": "`dialect: scripted` plays any answer for a test",
  PROXY_USAGE_ALLOW_UNAUTH: "`/v1/usage` needs a key wherever there are keys",
  PROXY_MAX_PROMPT_TOKENS:
    "`limits.tokens_per_minute`; a prompt that is too long is the model's to refuse",
  PROXY_MAX_CHAT_CHOICES: "the upstream decides how many choices it gives",
  PROXY_LOG_PROTO: "`PROTO_LOG_PATH` alone switches that log on",
  "PROXY_TRACE_*": recorded,
  PROXY_DEBUG_WIRE: recorded,
  PROXY_ENABLE_OTEL: otel,
  "PROXY_OTEL_*": otel,
  "PROXY_DISABLE_INTERNAL_TOOLS*": codexOwn,
  PROXY_ENABLE_INTERNAL_TOOLS_SHIM: codexOwn,
  PROXY_ENABLE_WEB_SEARCH_REQUEST: codexOwn,
  "PROXY_RESPONSES_IDEMPOTENCY*": "a request that is sent twice is answered twice",
  CODEX_MODEL: "`models` in the configuration file",
  CODEX_BIN: "`upstreams.NAME.command` of a Codex upstream",
  CODEX_HOME: "`upstreams.NAME.home` of a Codex upstream, a folder for nothing else",
  CODEX_FORCE_PROVIDER: "`upstreams.NAME.base_url` of a Codex upstream",
  CODEX_APPROVAL_POLICY: codexOwn,
  WORKER_MAX_CONCURRENCY: "`upstreams.NAME.seats` and `.processes` of a Codex upstream",
  WORKER_REQUEST_TIMEOUT_MS: "`upstreams.NAME.timeouts` of a Codex upstream",
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
        : [`${name} is set, but nothing reads it. In its place: ${instead}.`];
    });
}

/** True if a variable is one of the older proxy's that something else takes the place of. */
export const isReplaced = (name: string): boolean => replacementFor(name) !== undefined;

function replacementFor(name: string): string | undefined {
  const exact = Object.hasOwn(replacements, name) ? replacements[name] : undefined;
  if (exact !== undefined) return exact;
  const prefix = Object.keys(replacements).find(
    (key) => key.endsWith("*") && name.startsWith(key.slice(0, -1)),
  );
  return prefix === undefined ? undefined : replacements[prefix];
}
