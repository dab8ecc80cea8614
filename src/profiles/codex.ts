import type { Profile } from "../turn/profile.ts";
import { absent, functionsOnly, NO_LIMIT, openaiFamilies } from "./extend.ts";

/**
 * Codex by its app-server, 0.164 or newer, made a model and nothing else. From
 * running 0.166.0. Read 2026-11.
 *
 * Tools are functions, declared when a thread starts. `exec_command` and
 * `shell_command` it takes and never offers; `mcp__` names it refuses. Schemas
 * lose most constraints, so the descriptions state these. Nothing bears
 * on sampling, and what the model is to call can only be asked for in words.
 */
export const codexProfile: Profile = {
  name: "codex",
  provider: "openai",
  families: openaiFamilies,
  dialect: "codex",
  tools: {
    kinds: functionsOnly,
    max: NO_LIMIT,
    names: {
      chars: "A-Za-z0-9_-",
      max: 64,
      reserved: ["mcp", "mcp__*", "exec_command", "shell_command"],
    },
    choice: ["auto", "none", "required"],
    parallel: true,
    declares: "thread",
    deferred: false,
    cached: true,
    schema: {
      anyRoot: false,
      untyped: false,
      consts: false,
      keywords: ["additionalProperties", "minItems"],
      formats: [],
      strict: false,
    },
  },
  params: {
    ...absent(
      "maxTokens temperature topP n stop seed presencePenalty frequencyPenalty logitBias logprobs " +
        "parallelCalls maxCalls store metadata user safetyIdentifier cacheKey cacheRetention " +
        "truncation modalities audio prediction webSearch previousResponse conversation " +
        "background prompt",
    ),
    effort: "effort",
    reasoningSummary: "summary",
    verbosity: "verbosity",
    serviceTier: "serviceTier",
    include: "include",
  },
  formats: ["text", "strict"],
  reasoning: "items",
  streamUsage: false,
  history: {
    paired: true,
    roles: ["developer", "user", "assistant"],
    names: false,
    media: ["image"],
    resultMedia: ["image"],
  },
};
