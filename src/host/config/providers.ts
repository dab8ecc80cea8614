import { existsSync } from "node:fs";
import type { BuiltinDialectName } from "../../dialects/registry.ts";
import { onPath } from "../../upstreams/codex/command.ts";
import { loginFile } from "../../upstreams/codex/home.ts";
import type { Environment } from "./env.ts";

type Provider = {
  /** Where its key is kept; the first that is set counts. */
  readonly env: readonly [string, ...string[]];
  readonly base_url: string;
  readonly dialect: BuiltinDialectName;
  readonly profile: string;
  /** What answers for a model name that nobody knows. `*`: the name is passed on as it is. */
  readonly model: string;
};

/**
 * Providers whose key in the environment is configuration enough, the likeliest
 * default first. Addresses, variables and models from models.dev and the
 * sources named in the profiles; read 2026-11. Where a provider has one address
 * for China and one for the rest (moonshot, qwen, zhipu, minimax) a file names
 * the other.
 */
export const providers = {
  openai: {
    env: ["OPENAI_API_KEY"],
    base_url: "https://api.openai.com/v1",
    dialect: "responses",
    profile: "openai",
    model: "*",
  },
  anthropic: {
    env: ["ANTHROPIC_API_KEY"],
    base_url: "https://api.anthropic.com/v1",
    dialect: "messages",
    profile: "anthropic",
    model: "*",
  },
  deepseek: {
    env: ["DEEPSEEK_API_KEY"],
    base_url: "https://api.deepseek.com/v1",
    dialect: "chat",
    profile: "deepseek",
    model: "deepseek-v4-pro",
  },
  openrouter: {
    env: ["OPENROUTER_API_KEY"],
    base_url: "https://openrouter.ai/api/v1",
    dialect: "chat",
    profile: "openrouter",
    model: "openrouter/auto",
  },
  gemini: {
    env: ["GEMINI_API_KEY"],
    base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
    dialect: "chat",
    profile: "gemini",
    model: "gemini-flash-latest",
  },
  mistral: {
    env: ["MISTRAL_API_KEY"],
    base_url: "https://api.mistral.ai/v1",
    dialect: "chat",
    profile: "mistral",
    model: "mistral-large-latest",
  },
  groq: {
    env: ["GROQ_API_KEY"],
    base_url: "https://api.groq.com/openai/v1",
    dialect: "chat",
    profile: "groq",
    model: "openai/gpt-oss-120b",
  },
  xai: {
    env: ["XAI_API_KEY"],
    base_url: "https://api.x.ai/v1",
    dialect: "chat",
    profile: "xai",
    model: "grok-4.6",
  },
  moonshot: {
    env: ["MOONSHOT_API_KEY"],
    base_url: "https://api.moonshot.ai/v1",
    dialect: "chat",
    profile: "moonshot",
    model: "kimi-k3",
  },
  qwen: {
    env: ["DASHSCOPE_API_KEY"],
    base_url: "https://dashscope.aliyuncs.com/compatible-mode/v1",
    dialect: "chat",
    profile: "qwen",
    model: "qwen3.8-max",
  },
  zhipu: {
    env: ["ZHIPU_API_KEY", "ZHIPUAI_API_KEY"],
    base_url: "https://open.bigmodel.cn/api/paas/v4",
    dialect: "chat",
    profile: "zhipu",
    model: "glm-5.2",
  },
  minimax: {
    env: ["MINIMAX_API_KEY"],
    base_url: "https://api.minimax.io/v1",
    dialect: "chat",
    profile: "minimax",
    model: "MiniMax-M3",
  },
  mimo: {
    env: ["MIMO_API_KEY", "XIAOMI_API_KEY"],
    base_url: "https://api.xiaomimimo.com/v1",
    dialect: "chat",
    profile: "mimo",
    model: "mimo-v2.5-pro",
  },
} as const satisfies Record<string, Provider>;

/** What every local model server speaks. */
export const localDialect: BuiltinDialectName = "chat";

export type ZeroConfig = {
  readonly upstreams: Readonly<Record<string, unknown>>;
  readonly models: Readonly<Record<string, string>>;
};

/**
 * Configuration from keys in the environment alone. One upstream answers for
 * every model name; of several, each answers for the names of its own models.
 * The embedded demo answers only if there is nothing else.
 */
export function zeroConfig(env: Environment): ZeroConfig {
  const upstreams: Record<string, unknown> = {};
  const places: string[] = [];
  for (const [name, provider] of Object.entries<Provider>(providers)) {
    const key = keyVariable(provider, env);
    if (key === undefined) continue;
    const { dialect, profile, model } = provider;
    upstreams[name] = {
      dialect,
      profile,
      base_url: addressOf(provider, key, env),
      api_key: env[key],
    };
    places.push(`${name}/${model}`);
  }
  if (isCodexSignedIn(env)) {
    upstreams["codex"] = { dialect: "codex" };
    places.push("codex/*");
  }
  const [first, ...others] = places;
  if (first === undefined)
    return {
      upstreams: { demo: { dialect: "scripted" } },
      models: { demo: "demo/demo", "*": "demo/demo" },
    };
  return { upstreams, models: others.length === 0 ? { "*": first } : {} };
}

/** The variable that holds a provider's key, if one does. */
export const keyVariable = (
  { env: names }: { readonly env: readonly string[] },
  env: Environment,
): string | undefined => names.find((name) => (env[name] ?? "") !== "");

/**
 * Where a provider is reached: the variable that its SDKs read, such as
 * `OPENAI_BASE_URL`, may name another address. One without a path is given the
 * path of the provider's own. This gateway's address is passed over: it stands
 * there for agents.
 */
function addressOf({ base_url }: Provider, key: string, env: Environment): string {
  const named = URL.parse(env[key.replace(/_API_KEY$/, "_BASE_URL")] ?? "");
  if (named === null || isThisGateway(named, env)) return base_url;
  if (named.pathname === "/") named.pathname = new URL(base_url).pathname;
  return named.href.replace(/\/$/, "");
}

const isThisGateway = ({ hostname, port }: URL, env: Environment): boolean =>
  /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname) && port === (env["PORT"] || "11435");

/** Codex brings its own sign-in: with both it and that there, nothing has to be configured. */
const isCodexSignedIn = (env: Environment): boolean =>
  onPath("codex", env["PATH"] ?? "") !== undefined && existsSync(loginFile(env));
