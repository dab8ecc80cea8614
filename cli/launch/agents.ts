import { join } from "node:path";
import { existsSync } from "node:fs";
import { Fault, nearest, ownOf } from "../../src/terminal.ts";
import { anthropic, qwen } from "../../src/inspection.ts";
import type { Agent, Destination, Lasting, Place } from "./agent.ts";
import { codex } from "./codex.ts";

/** GitHub's Copilot CLI by the variables for a provider of the user's own. */
const copilot: Agent = {
  name: "copilot",
  title: "Copilot CLI",
  commands: ["copilot"],
  install: "npm install -g @github/copilot",
  tried: "1.0, by its documentation",
  point: ({ url, key, model }) => ({
    env: {
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_TYPE: "openai",
      COPILOT_PROVIDER_WIRE_API: "responses",
      COPILOT_PROVIDER_API_KEY: key,
      COPILOT_MODEL: model,
    },
  }),
};

const SETTINGS = "settings.json";

const variables = ({ url, key = "none", model, small, context }: Lasting) => ({
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_AUTH_TOKEN: key,
  ANTHROPIC_API_KEY: "",
  CLAUDE_CODE_USE_BEDROCK: "",
  CLAUDE_CODE_USE_VERTEX: "",
  CLAUDE_CODE_USE_FOUNDRY: "",
  CLAUDE_CODE_USE_MANTLE: "",
  ANTHROPIC_DEFAULT_OPUS_MODEL: model,
  ANTHROPIC_DEFAULT_SONNET_MODEL: model,
  ANTHROPIC_DEFAULT_HAIKU_MODEL: small,
  CLAUDE_CODE_SUBAGENT_MODEL: model,
  CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(context),
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
});

/**
 * Claude Code by a settings file of ours: what the user's own settings put into
 * `env` counts before the process's environment, and `--settings` before both.
 */
const claudeCode: Agent = {
  name: "claude",
  title: "Claude Code",
  commands: ["claude"],
  install: "npm install -g @anthropic-ai/claude-code",
  tried: "2.1.325",
  families: anthropic.families,
  keeping: {
    format: "json",
    file: ({ home, env }) => join(env["CLAUDE_CONFIG_DIR"] || join(home, ".claude"), SETTINGS),
    entries: (to) => [
      ...Object.entries(variables(to)).map(([name, value]) => ({ path: ["env", name], value })),
      { path: ["model"], value: to.model },
    ],
  },
  point(to) {
    return {
      args: ["--settings", join(to.folder, SETTINGS), "--model", to.model],
      files: { [SETTINGS]: JSON.stringify({ env: variables(to) }) },
    };
  },
};

/** Agents that speak Chat Completions, and how each is pointed at a gateway without an edit. */
const v1 = ({ url }: Pick<Destination, "url">): string => `${url}/v1`;

const openCodeProvider = (to: Lasting, key: string) => {
  const limit = { context: to.context, output: Math.min(32_000, to.context) };
  const names = [...new Set([to.model, to.small, ...to.models])];
  const models = Object.fromEntries(names.map((name) => [name, { name, tool_call: true, limit }]));
  const options = { baseURL: v1(to), apiKey: key };
  return { npm: "@ai-sdk/openai-compatible", name: "Patchbay", options, models };
};

/** Where programs keep their configuration. */
const configHome = ({ home, env }: Place): string =>
  env["XDG_CONFIG_HOME"] || join(home, ".config");

const openCode: Agent = {
  name: "opencode",
  title: "OpenCode",
  commands: ["opencode"],
  install: "npm install -g opencode-ai",
  tried: "1.18.33",
  keeping: {
    format: "jsonc",
    file(place) {
      const files = ["opencode.jsonc", "opencode.json"].map((name) =>
        join(configHome(place), "opencode", name),
      );
      return (
        files.find((file) => existsSync(file)) ??
        join(configHome(place), "opencode", "opencode.json")
      );
    },
    entries: (to) => [
      {
        path: ["provider", "patchbay"],
        value: openCodeProvider(to, to.key ?? "none"),
        owned: true,
      },
      { path: ["model"], value: `patchbay/${to.model}` },
      { path: ["small_model"], value: `patchbay/${to.small}` },
    ],
  },
  point(to) {
    const provider = openCodeProvider(to, "{env:PATCHBAY_API_KEY}");
    const config = {
      provider: { patchbay: provider },
      model: `patchbay/${to.model}`,
      // Left out, titles would go to whatever else is signed in.
      small_model: `patchbay/${to.small}`,
    };
    return { env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(config), PATCHBAY_API_KEY: to.key } };
  },
};

const qwenCode: Agent = {
  name: "qwen",
  families: qwen.families,
  title: "Qwen Code",
  commands: ["qwen"],
  install: "npm install -g @qwen-code/qwen-code",
  tried: "0.24.4",
  keeping: {
    format: "jsonc",
    file: ({ home }) => join(home, ".qwen", "settings.json"),
    entries: (to) => [
      { path: ["security", "auth", "selectedType"], value: "openai" },
      { path: ["model", "name"], value: to.model },
      // These count before what `security.auth` says.
      { path: ["env", "OPENAI_BASE_URL"], value: v1(to) },
      { path: ["env", "OPENAI_API_KEY"], value: to.key ?? "none" },
      { path: ["env", "OPENAI_MODEL"], value: to.model },
    ],
  },
  point: (to) => ({
    args: ["--auth-type", "openai", "--openai-base-url", v1(to), "-m", to.model],
    env: { OPENAI_API_KEY: to.key },
  }),
};

const continueModel = (to: Lasting, name: string) => ({
  name,
  provider: "openai",
  model: to.model,
  apiBase: v1(to),
  apiKey: to.key ?? "none",
  capabilities: ["tool_use"],
  contextLength: to.context,
});

const continueCli: Agent = {
  name: "continue",
  title: "Continue",
  commands: ["cn"],
  install: "npm install -g @continuedev/cli",
  tried: "1.5.47",
  keeping: {
    format: "yaml-list",
    file: ({ home, env }) =>
      join(env["CONTINUE_GLOBAL_DIR"] || join(home, ".continue"), "config.yaml"),
    entries: (to) => [{ path: ["models"], value: continueModel(to, `Patchbay: ${to.model}`) }],
    note: () => "In an editor, choose the model in Continue's list.",
  },
  point(to) {
    const models = [continueModel(to, to.model)];
    // JSON is YAML too.
    const config = { name: "Patchbay", version: "1.0.0", schema: "v1", models };
    return {
      args: ["--config", join(to.folder, "config.yaml")],
      files: { "config.yaml": JSON.stringify(config) },
    };
  },
};

const aider: Agent = {
  name: "aider",
  title: "aider",
  commands: ["aider"],
  install: "pip install aider-chat",
  tried: "0.86.2",
  keeping: {
    format: "yaml",
    file: ({ home }) => join(home, ".aider.conf.yml"),
    entries: (to) => [
      { path: ["model"], value: `openai/${to.model}` },
      { path: ["weak-model"], value: `openai/${to.small}` },
      { path: ["openai-api-base"], value: v1(to) },
      { path: ["openai-api-key"], value: to.key ?? "none" },
    ],
  },
  point(to) {
    const about = { max_input_tokens: to.context, max_tokens: to.context };
    const metadata = Object.fromEntries(
      [to.model, to.small].map((name) => [`openai/${name}`, about]),
    );
    const file = join(to.folder, "models.json");
    return {
      args: [
        `--model=openai/${to.model}`,
        `--weak-model=openai/${to.small}`,
        `--model-metadata-file=${file}`,
        "--no-show-model-warnings",
      ],
      // Under these names: what its own files say counts before OPENAI_API_BASE.
      env: { AIDER_OPENAI_API_BASE: v1(to), AIDER_OPENAI_API_KEY: to.key },
      files: { "models.json": JSON.stringify(metadata) },
    };
  },
};

const clineProvider = "openai-compatible";

/** In the form that Cline writes it in itself. */
const clineEntry = (to: Lasting) => ({
  settings: {
    provider: clineProvider,
    apiKey: to.key ?? "none",
    model: to.model,
    baseUrl: v1(to),
  },
  updatedAt: new Date(0).toISOString(),
  tokenSource: "manual",
});

const cline: Agent = {
  name: "cline",
  title: "Cline",
  commands: ["cline"],
  install: "npm install -g cline",
  tried: "3.0.65",
  keeping: {
    format: "json",
    file: ({ home, env }) =>
      env["CLINE_PROVIDER_SETTINGS_PATH"] ||
      join(home, ".cline", "data", "settings", "providers.json"),
    entries: (to) => [
      { path: ["version"], value: 1 },
      { path: ["lastUsedProvider"], value: clineProvider },
      {
        path: ["providers", clineProvider],
        value: clineEntry(to),
        // It writes the moment of its last use into the entry.
        known: { settings: { baseUrl: v1(to) } },
      },
    ],
  },
  point(to) {
    const file = {
      version: 1,
      lastUsedProvider: clineProvider,
      providers: { [clineProvider]: clineEntry(to) },
    };
    return {
      args: ["--data-dir", to.folder, "-P", clineProvider, "-m", to.model],
      files: { "settings/providers.json": JSON.stringify(file) },
    };
  },
};

const goose: Agent = {
  name: "goose",
  title: "goose",
  commands: ["goose"],
  install: "see the goose documentation",
  tried: "1.35.0, by its documentation",
  point: ({ url, key, model }) => ({
    env: {
      GOOSE_PROVIDER: "openai",
      GOOSE_MODEL: model,
      // Newer ones know OPENAI_BASE_URL too, and this counts before it.
      OPENAI_HOST: url,
      OPENAI_API_KEY: key,
    },
  }),
};

const crush: Agent = {
  name: "crush",
  title: "Crush",
  commands: ["crush"],
  install: "npm install -g @charmland/crush",
  tried: "0.96, by its documentation",
  point(to) {
    const models = [...new Set([to.model, to.small])].map((id) => ({
      id,
      name: id,
      context_window: to.context,
      default_max_tokens: Math.min(32_000, to.context),
    }));
    const provider = {
      type: "openai-compat",
      base_url: v1(to),
      api_key: "$PATCHBAY_API_KEY",
      models,
    };
    const config = {
      providers: { patchbay: provider },
      models: {
        large: { provider: "patchbay", model: to.model },
        small: { provider: "patchbay", model: to.small },
      },
    };
    return {
      env: { CRUSH_GLOBAL_DATA: to.folder, PATCHBAY_API_KEY: to.key },
      files: { "crush.json": JSON.stringify(config) },
    };
  },
};

/** All agents that can be launched. */
export const agents: readonly Agent[] = [
  codex,
  claudeCode,
  openCode,
  qwenCode,
  cline,
  continueCli,
  aider,
  goose,
  crush,
  copilot,
];

/** Agents that users ask for and that cannot be pointed at a gateway, and why. */
const unreachable: Readonly<Record<string, string>> = {
  amp: "Amp cannot be launched on another model: its models are asked by its own server, and it has no setting for another address.",
  gemini:
    "Gemini CLI cannot be launched yet: it speaks Gemini's own dialect alone, and no door of this gateway does.",
};

export function findAgent(name: string): Agent {
  const word = name.toLowerCase();
  const found = agents.find((agent) => agent.name === word || agent.commands.includes(word));
  if (found !== undefined) return found;
  const reason = ownOf(unreachable, word);
  if (reason !== undefined) throw new Fault("request.invalid", reason);
  const names = agents.map((agent) => agent.name);
  const near = nearest(word, names);
  const hint = near === undefined ? "" : ` Did you mean \`${near}\`?`;
  throw new Fault(
    "request.invalid",
    `No agent is called \`${name}\`; there are ${names.join(", ")}.${hint}`,
  );
}
