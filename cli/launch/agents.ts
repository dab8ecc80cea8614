/** The agents of `patchbay launch`: how each is pointed at a gateway, by its own means. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Environment, nearest, onPath, ownOf, refusal } from "../../src/terminal.ts";
import { anthropic, qwen } from "../../src/inspection.ts";
import type { LaunchAgent, AgentTarget, Lasting, AgentHome } from "./agent.ts";
import { codexAgent } from "./codex.ts";
import { geminiAgent } from "./gemini.ts";

const v1 = ({ url }: Pick<AgentTarget, "url">): string => `${url}/v1`;
const keyOf = ({ key = "none" }: Lasting): string => key;
/** The names of the models for large and small work, each once. */
const both = ({ model, small }: Lasting): readonly string[] => [...new Set([model, small])];
const mostOutput = ({ context }: Lasting): number => Math.min(32_000, context);

const SETTINGS = "settings.json";

const claudeVariables = (to: Lasting) => ({
  ANTHROPIC_BASE_URL: to.url,
  ANTHROPIC_AUTH_TOKEN: keyOf(to),
  ANTHROPIC_API_KEY: "",
  CLAUDE_CODE_USE_BEDROCK: "",
  CLAUDE_CODE_USE_VERTEX: "",
  CLAUDE_CODE_USE_FOUNDRY: "",
  CLAUDE_CODE_USE_MANTLE: "",
  ANTHROPIC_DEFAULT_OPUS_MODEL: to.model,
  ANTHROPIC_DEFAULT_SONNET_MODEL: to.model,
  ANTHROPIC_DEFAULT_HAIKU_MODEL: to.small,
  CLAUDE_CODE_SUBAGENT_MODEL: to.model,
  CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(to.context),
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
});

/** `provider` and both models; without the small one, titles would go to another provider that is signed in. */
function openCodeSettings(to: Lasting, apiKey: string) {
  const limit = { context: to.context, output: mostOutput(to) };
  const names = [...new Set([...both(to), ...to.models])];
  const models = Object.fromEntries(names.map((name) => [name, { name, tool_call: true, limit }]));
  const options = { baseURL: v1(to), apiKey };
  return {
    provider: { npm: "@ai-sdk/openai-compatible", name: "Patchbay", options, models },
    model: `patchbay/${to.model}`,
    small_model: `patchbay/${to.small}`,
  };
}

/** The first of two names that exists in OpenCode's folder; else the second. */
function openCodeFile({ home, env }: AgentHome): string {
  const folder = join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "opencode");
  const commented = join(folder, "opencode.jsonc");
  return existsSync(commented) ? commented : join(folder, "opencode.json");
}

const continueModel = (to: Lasting, name: string) => ({
  name,
  provider: "openai",
  model: to.model,
  apiBase: v1(to),
  apiKey: keyOf(to),
  capabilities: ["tool_use"],
  contextLength: to.context,
});

const clineProvider = "openai-compatible";

/** The form in which Cline writes an entry itself. */
const clineEntry = (to: Lasting) => ({
  settings: { provider: clineProvider, apiKey: keyOf(to), model: to.model, baseUrl: v1(to) },
  updatedAt: new Date(0).toISOString(),
  tokenSource: "manual",
});

export const agents: readonly LaunchAgent[] = [
  codexAgent,
  {
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
        ...Object.entries(claudeVariables(to)).map(([name, value]) => ({
          path: ["env", name],
          value,
        })),
        { path: ["model"], value: to.model },
      ],
    },
    // `env` of the user's settings wins over the environment, and `--settings` over both.
    point: (to) => ({
      args: ["--settings", join(to.folder, SETTINGS), "--model", to.model],
      files: { [SETTINGS]: JSON.stringify({ env: claudeVariables(to) }) },
    }),
  },
  geminiAgent,
  {
    name: "opencode",
    title: "OpenCode",
    commands: ["opencode"],
    install: "npm install -g opencode-ai",
    tried: "1.18.33",
    keeping: {
      format: "jsonc",
      file: openCodeFile,
      entries(to) {
        const { provider, ...models } = openCodeSettings(to, keyOf(to));
        return [
          { path: ["provider", "patchbay"], value: provider, owned: true },
          ...Object.entries(models).map(([name, value]) => ({ path: [name], value })),
        ];
      },
    },
    point(to) {
      const { provider, ...models } = openCodeSettings(to, "{env:PATCHBAY_API_KEY}");
      const config = JSON.stringify({ provider: { patchbay: provider }, ...models });
      return { env: { OPENCODE_CONFIG_CONTENT: config, PATCHBAY_API_KEY: to.key } };
    },
  },
  {
    name: "qwen",
    title: "Qwen Code",
    commands: ["qwen"],
    install: "npm install -g @qwen-code/qwen-code",
    tried: "0.24.4",
    families: qwen.families,
    keeping: {
      format: "jsonc",
      file: ({ home }) => join(home, ".qwen", SETTINGS),
      entries: (to) => [
        { path: ["security", "auth", "selectedType"], value: "openai" },
        { path: ["model", "name"], value: to.model },
        // These win over `security.auth`.
        { path: ["env", "OPENAI_BASE_URL"], value: v1(to) },
        { path: ["env", "OPENAI_API_KEY"], value: keyOf(to) },
        { path: ["env", "OPENAI_MODEL"], value: to.model },
      ],
    },
    point: (to) => ({
      args: ["--auth-type", "openai", "--openai-base-url", v1(to), "-m", to.model],
      env: { OPENAI_API_KEY: to.key },
    }),
  },
  {
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
          // Cline writes the moment of its last use into the entry.
          known: { settings: { baseUrl: v1(to) } },
        },
      ],
    },
    point(to) {
      const providers = { [clineProvider]: clineEntry(to) };
      const file = { version: 1, lastUsedProvider: clineProvider, providers };
      return {
        args: ["--data-dir", to.folder, "-P", clineProvider, "-m", to.model],
        files: { "settings/providers.json": JSON.stringify(file) },
      };
    },
  },
  {
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
  },
  {
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
        { path: ["openai-api-key"], value: keyOf(to) },
      ],
    },
    point(to) {
      const about = { max_input_tokens: to.context, max_tokens: to.context };
      const models = Object.fromEntries(both(to).map((name) => [`openai/${name}`, about]));
      return {
        args: [
          `--model=openai/${to.model}`,
          `--weak-model=openai/${to.small}`,
          `--model-metadata-file=${join(to.folder, "models.json")}`,
          "--no-show-model-warnings",
        ],
        // These names win over aider's own files, and those over OPENAI_API_BASE.
        env: { AIDER_OPENAI_API_BASE: v1(to), AIDER_OPENAI_API_KEY: to.key },
        files: { "models.json": JSON.stringify(models) },
      };
    },
  },
  {
    name: "goose",
    title: "goose",
    commands: ["goose"],
    install: "see the goose documentation",
    tried: "1.35.0, by its documentation",
    // Newer versions read OPENAI_BASE_URL too, and OPENAI_HOST wins over it.
    point: ({ url, key, model }) => ({
      env: { GOOSE_PROVIDER: "openai", GOOSE_MODEL: model, OPENAI_HOST: url, OPENAI_API_KEY: key },
    }),
  },
  {
    name: "crush",
    title: "Crush",
    commands: ["crush"],
    install: "npm install -g @charmland/crush",
    tried: "0.96, by its documentation",
    point(to) {
      const models = both(to).map((id) => ({
        id,
        name: id,
        context_window: to.context,
        default_max_tokens: mostOutput(to),
      }));
      const provider = { type: "openai-compat", base_url: v1(to), api_key: "$PATCHBAY_API_KEY" };
      const placed = (model: string) => ({ provider: "patchbay", model });
      const config = {
        providers: { patchbay: { ...provider, models } },
        models: { large: placed(to.model), small: placed(to.small) },
      };
      return {
        env: { CRUSH_GLOBAL_DATA: to.folder, PATCHBAY_API_KEY: to.key },
        files: { "crush.json": JSON.stringify(config) },
      };
    },
  },
  {
    name: "copilot",
    title: "Copilot CLI",
    commands: ["copilot"],
    install: "npm install -g @github/copilot",
    tried: "1.0, by its documentation",
    point: (to) => ({
      env: {
        COPILOT_PROVIDER_BASE_URL: v1(to),
        COPILOT_PROVIDER_TYPE: "openai",
        COPILOT_PROVIDER_WIRE_API: "responses",
        COPILOT_PROVIDER_API_KEY: to.key,
        COPILOT_MODEL: to.model,
      },
    }),
  },
];

/** The file of an agent on PATH; undefined if it is not installed. */
export function programOf(
  { commands }: Pick<LaunchAgent, "commands">,
  env: Environment,
): string | undefined {
  const path = env["PATH"] ?? env["Path"] ?? "";
  return commands.map((command) => onPath(command, path)).find((file) => file !== undefined);
}

export const installedAgents = (env: Environment): readonly LaunchAgent[] =>
  agents.filter((agent) => programOf(agent, env) !== undefined);

/** Agents that cannot be pointed at a gateway, and why. */
const unreachable: Readonly<Record<string, string>> = {
  amp: "Amp cannot use this gateway: its own server calls the models, and it has no setting for another address.",
};

export function findAgent(name: string): LaunchAgent {
  const word = name.toLowerCase();
  const found = agents.find((agent) => agent.name === word || agent.commands.includes(word));
  if (found !== undefined) return found;
  const names = agents.map((agent) => agent.name);
  const near = nearest(word, names);
  const hint = near === undefined ? "" : ` Did you mean \`${near}\`?`;
  const reason = ownOf(unreachable, word);
  throw refusal(
    reason ?? `There is no agent \`${name}\`; the agents are ${names.join(", ")}.${hint}`,
  );
}
