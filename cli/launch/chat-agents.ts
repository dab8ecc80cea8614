/** Agents that speak Chat Completions, and how each is pointed at a gateway without an edit. */

import { join } from "node:path";
import { existsSync } from "node:fs";
import { qwen } from "../../src/profiles/qwen.ts";
import type { Agent, Destination, Lasting, Place } from "./agent.ts";

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

export const openCode: Agent = {
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

export const qwenCode: Agent = {
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

export const continueCli: Agent = {
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

export const aider: Agent = {
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

export const cline: Agent = {
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

export const goose: Agent = {
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

export const crush: Agent = {
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
