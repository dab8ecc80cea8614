import { existsSync } from "node:fs";
import type { BuiltinDialectName } from "../../dialects/registry.ts";
import { onPath } from "../../upstreams/codex/command.ts";
import { loginFile } from "../../upstreams/codex/home.ts";
import { profileFor } from "../../profiles/profiles.ts";
import type { Environment } from "./env.ts";

/** The dialect of every local model server. */
export const localDialect: BuiltinDialectName = "chat";

type Provider = {
  /** The variables of its key; the first that is set counts. */
  readonly env: readonly [string, ...string[]];
  readonly base_url: string;
  readonly dialect: BuiltinDialectName;
  readonly profile: string;
  /** Alone, it is asked for every name as it is, since clients know its models; others answer by their default model. */
  readonly isAskedByName?: true;
};

/** A provider that has a profile and speaks the dialect of local servers. */
const provider = (
  profile: string,
  base_url: string,
  ...env: readonly [string, ...string[]]
): Provider => ({ env, base_url, dialect: localDialect, profile });

/**
 * Providers that need no configuration but a key in the environment, the likeliest default first.
 * Addresses, variables and models are from models.dev and the sources named in the profiles, read
 * 2026-11. Some providers (moonshot, qwen, zhipu, minimax) have another address for China, which
 * a file can name.
 */
export const providers = {
  openai: {
    env: ["OPENAI_API_KEY"],
    base_url: "https://api.openai.com/v1",
    dialect: "responses",
    profile: "openai",
    isAskedByName: true,
  },
  anthropic: {
    env: ["ANTHROPIC_API_KEY"],
    base_url: "https://api.anthropic.com/v1",
    dialect: "messages",
    profile: "anthropic",
    isAskedByName: true,
  },
  deepseek: provider("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
  openrouter: provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
  gemini: provider(
    "gemini",
    "https://generativelanguage.googleapis.com/v1beta/openai",
    "GEMINI_API_KEY",
  ),
  mistral: provider("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
  groq: provider("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
  xai: provider("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
  moonshot: provider("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
  qwen: provider("qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
  zhipu: provider(
    "zhipu",
    "https://open.bigmodel.cn/api/paas/v4",
    "ZHIPU_API_KEY",
    "ZHIPUAI_API_KEY",
  ),
  minimax: provider("minimax", "https://api.minimax.io/v1", "MINIMAX_API_KEY"),
  mimo: provider("mimo", "https://api.xiaomimimo.com/v1", "MIMO_API_KEY", "XIAOMI_API_KEY"),
} as const satisfies Record<string, Provider>;

/** A provider whose key is in the environment. */
export type KeyedProvider = {
  readonly provider: keyof typeof providers;
  readonly variable: string;
  readonly dialect: BuiltinDialectName;
  readonly profile: string;
  /** For a file: an address that holds a secret is a reference to its variable. */
  readonly base_url: string;
  /** The target of `"*"` if there is no other upstream. */
  readonly rest: string;
};

export const keyedProviders = (env: Environment): KeyedProvider[] =>
  (Object.entries(providers) as [KeyedProvider["provider"], Provider][]).flatMap(
    ([provider, { env: variables, base_url, dialect, profile, isAskedByName }]) => {
      const variable = variables.find((one) => (env[one] ?? "") !== "");
      if (variable === undefined) return [];
      const model = isAskedByName ? "*" : (profileFor(profile, dialect)?.defaultModel ?? "*");
      const named = namedAddress(base_url, addressVariable(variable), env);
      const isOpen = named === undefined || named.username + named.password + named.search === "";
      const written = isOpen ? textOf(named, base_url) : `\${${addressVariable(variable)}}`;
      const rest = `${provider}/${model}`;
      return [{ provider, variable, dialect, profile, base_url: written, rest }];
    },
  );

/** The names of the variables that keys of upstreams came from, by upstream. */
export type KeySources = Readonly<Record<string, string>>;

/** The file of a configuration and where its keys come from, in one phrase. */
export function sourceText({
  file,
  keys,
}: {
  readonly file?: string | undefined;
  readonly keys: KeySources;
}): string {
  const sources = keysText(keys);
  return `${file ?? "no file"}${sources === "" ? "" : ` (keys: ${sources})`}`;
}

/** `openai from OPENAI_API_KEY`, for each upstream with a key. */
export const keysText = (keys: KeySources): string =>
  Object.entries(keys)
    .map(([name, source]) => `${name} from ${source}`)
    .join(", ");

export type ZeroConfig = {
  readonly upstreams: Readonly<Record<string, unknown>>;
  readonly models: Readonly<Record<string, string>>;
  readonly keys: KeySources;
};

/**
 * Configuration from keys in the environment alone. A single upstream answers for every model
 * name; several answer for the names of their models. The embedded demo answers only if there is
 * no upstream.
 */
export function zeroConfig(env: Environment): ZeroConfig {
  const found = keyedProviders(env);
  const upstreams: Record<string, unknown> = {};
  for (const { provider, variable, dialect, profile } of found) {
    const { base_url: own } = providers[provider];
    const base_url = textOf(namedAddress(own, addressVariable(variable), env), own);
    upstreams[provider] = { dialect, profile, base_url, api_key: env[variable] };
  }
  const places = found.map(({ rest }) => rest);
  if (isCodexSignedIn(env)) {
    upstreams["codex"] = { dialect: "codex" };
    places.push("codex/*");
  }
  const keys = Object.fromEntries(found.map(({ provider, variable }) => [provider, variable]));
  const [first, ...others] = places;
  if (first === undefined)
    return {
      upstreams: { demo: { dialect: "scripted" } },
      models: { demo: "demo/demo", "*": "demo/demo" },
      keys,
    };
  return { upstreams, models: others.length === 0 ? { "*": first } : {}, keys };
}

const addressVariable = (variable: string): string => variable.replace(/_API_KEY$/, "_BASE_URL");

/**
 * The address in the variable of a provider's SDKs, such as `OPENAI_BASE_URL`. An address without
 * a path gets the path of the provider. This gateway's address is ignored: it is meant for agents.
 */
function namedAddress(base_url: string, variable: string, env: Environment): URL | undefined {
  const named = URL.parse(env[variable] ?? "");
  if (named === null || isThisGateway(named, env)) return undefined;
  if (named.pathname === "/") named.pathname = new URL(base_url).pathname;
  return named;
}

const textOf = (named: URL | undefined, base_url: string): string =>
  named?.href.replace(/\/$/, "") ?? base_url;

const isThisGateway = ({ hostname, port }: URL, env: Environment): boolean =>
  /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname) && port === (env["PORT"] || "11435");

/** True if Codex is installed and signed in, so that it needs no configuration. */
export const isCodexSignedIn = (env: Environment): boolean =>
  onPath("codex", env["PATH"] ?? "") !== undefined && existsSync(loginFile(env));
