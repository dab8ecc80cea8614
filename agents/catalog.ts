/** The agents that `npm run agents` tries: where each comes from, settings that say otherwise, and how one question is put to it. */

export type Tried = {
  /** As `patchbay launch` knows it. */
  readonly name: string;
  readonly program: string;
  /** The package, at the version that the launch was tried with. */
  readonly npm?: string | undefined;
  readonly pypi?: string | undefined;
  /** Its settings file in a home, and what a user may have there: another address, sign-in and model. */
  readonly file: string;
  readonly settings: string;
  /** Asks one thing without a terminal. */
  readonly args: readonly string[];
  /** Whether it writes its settings anew by itself, so that restored ones are equal and not the same bytes. */
  readonly rewrites?: boolean | undefined;
};

const ELSEWHERE = "http://127.0.0.1:9";
const QUESTION = "Say hello";
const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

export const catalog: readonly Tried[] = [
  {
    name: "opencode",
    program: "opencode",
    npm: "opencode-ai@1.18.33",
    file: ".config/opencode/opencode.json",
    settings: json({
      $schema: "https://opencode.ai/config.json",
      model: "other/m",
      provider: {
        other: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: `${ELSEWHERE}/v1`, apiKey: "x" },
          models: { m: {} },
        },
      },
    }),
    args: ["run", QUESTION],
  },
  {
    name: "qwen",
    program: "qwen",
    npm: "@qwen-code/qwen-code@0.24.4",
    file: ".qwen/settings.json",
    settings: json({
      $version: 4,
      env: { OPENAI_BASE_URL: `${ELSEWHERE}/v1`, OPENAI_API_KEY: "x", OPENAI_MODEL: "other" },
      security: { auth: { selectedType: "anthropic", baseUrl: ELSEWHERE } },
      model: { name: "qwen-9" },
    }),
    args: ["-p", QUESTION],
  },
  {
    name: "cline",
    program: "cline",
    npm: "cline@3.0.65",
    file: ".cline/data/settings/providers.json",
    settings: json({
      version: 1,
      lastUsedProvider: "anthropic",
      providers: {
        anthropic: {
          settings: { provider: "anthropic", apiKey: "x", model: "claude-9", baseUrl: ELSEWHERE },
          updatedAt: "2026-01-01T00:00:00.000Z",
          tokenSource: "manual",
        },
      },
    }),
    args: [QUESTION],
    rewrites: true,
  },
  {
    name: "continue",
    program: "cn",
    npm: "@continuedev/cli@1.5.47",
    file: ".continue/config.yaml",
    settings: `name: Mine\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: Other\n    provider: openai\n    model: other\n    apiBase: ${ELSEWHERE}/v1\n    apiKey: x\n`,
    args: ["-p", QUESTION],
  },
  {
    name: "aider",
    program: "aider",
    pypi: "aider-chat==0.86.2",
    file: ".aider.conf.yml",
    settings: `model: openai/other\nopenai-api-base: ${ELSEWHERE}/v1\nopenai-api-key: x\n`,
    args: [
      `--message=${QUESTION}`,
      "--yes-always",
      "--no-git",
      "--no-check-update",
      "--analytics-disable",
    ],
  },
];
