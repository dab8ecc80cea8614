import { join } from "node:path";
import { anthropic } from "../../src/profiles/anthropic.ts";
import type { Agent, Lasting } from "./agent.ts";

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
export const claudeCode: Agent = {
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
