/** Agents that speak Chat Completions, and how each is pointed at a gateway without an edit. */

import { join } from "node:path";
import type { Agent, Destination } from "./agent.ts";

const v1 = ({ url }: Destination): string => `${url}/v1`;

export const openCode: Agent = {
  name: "opencode",
  title: "OpenCode",
  commands: ["opencode"],
  install: "npm install -g opencode-ai",
  tried: "1.18.33",
  point(to) {
    const limit = { context: to.context, output: Math.min(32_000, to.context) };
    const models = Object.fromEntries(
      [...new Set([to.model, to.small, ...to.models])].map((name) => [
        name,
        { name, tool_call: true, limit },
      ]),
    );
    const options = { baseURL: v1(to), apiKey: "{env:PATCHBAY_API_KEY}" };
    const provider = { npm: "@ai-sdk/openai-compatible", name: "Patchbay", options, models };
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
  title: "Qwen Code",
  commands: ["qwen"],
  install: "npm install -g @qwen-code/qwen-code",
  tried: "0.24.4",
  point: (to) => ({
    args: ["--auth-type", "openai", "--openai-base-url", v1(to), "-m", to.model],
    env: { OPENAI_API_KEY: to.key },
  }),
};

export const continueCli: Agent = {
  name: "continue",
  title: "Continue",
  commands: ["cn"],
  install: "npm install -g @continuedev/cli",
  tried: "1.5.47",
  point(to) {
    const model = {
      name: to.model,
      provider: "openai",
      model: to.model,
      apiBase: v1(to),
      apiKey: to.key,
      capabilities: ["tool_use"],
      contextLength: to.context,
    };
    // JSON is YAML too.
    const config = { name: "Patchbay", version: "1.0.0", schema: "v1", models: [model] };
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
      env: { OPENAI_API_BASE: v1(to), OPENAI_API_KEY: to.key },
      files: { "models.json": JSON.stringify(metadata) },
    };
  },
};

export const cline: Agent = {
  name: "cline",
  title: "Cline",
  commands: ["cline"],
  install: "npm install -g cline",
  tried: "3.0.65",
  point(to) {
    const provider = "openai-compatible";
    const settings = { provider, apiKey: to.key, model: to.model, baseUrl: v1(to) };
    // In the form that Cline writes it in itself.
    const entry = { settings, updatedAt: new Date(0).toISOString(), tokenSource: "manual" };
    const file = { version: 1, lastUsedProvider: provider, providers: { [provider]: entry } };
    return {
      args: ["--data-dir", to.folder, "-P", provider, "-m", to.model],
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
