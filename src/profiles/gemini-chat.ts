import { absent, extendProfile, words } from "./extend.ts";
import { openChat } from "./generic.ts";

/**
 * Gemini with its OpenAI-compatible endpoint. From ai.google.dev, OpenAI
 * compatibility and thought signatures; fields and names it refuses from
 * ChatterUI#227, RPGBox#2 and gemini-cli#2966, results without the name of
 * their tool from hermes-agent#19728, conversations that begin with a call from
 * gemini-cli#11814, and efforts from discuss.ai.google.dev, t/117875 and
 * t/112648. Read 2026-11.
 *
 * It refuses every field it does not know, in schemas too, which are those of
 * OpenAPI. Its thought signatures come in `extra_content` of a call and go back
 * with the call, so reasoning is nothing apart. Inferred: the schema beyond
 * `const`, `$ref` and `examples`, and the fields not on its page.
 */
export const geminiChat = extendProfile(openChat, {
  name: "gemini-chat",
  provider: "gcp.gemini",
  families: ["gemini-*", "gemma-*"],
  defaultModel: "gemini-flash-latest",
  tools: {
    names: { first: "A-Za-z_" },
    schema: {
      refs: false,
      unions: ["anyOf"],
      anyRoot: false,
      maps: false,
      typeLists: false,
      untyped: false,
      tuples: false,
      consts: false,
      mixedEnums: false,
      strict: false,
      formats: ["date-time", "enum", "float", "double", "int32", "int64"],
      keywords: words(
        "format title default minimum maximum minItems maxItems minLength maxLength " +
          "pattern minProperties maxProperties",
      ),
    },
  },
  params: absent("seed user logitBias logprobs presencePenalty frequencyPenalty"),
  effort: {
    none: { as: "low", changed: true },
    minimal: { as: "low" },
    xhigh: { as: "high", changed: true },
    max: { as: "high", changed: true },
  },
  reasoning: "none",
  history: { media: ["image", "audio"], resultNames: true, beforeCalls: "Go on." },
  // Only these can do without thinking.
  models: [{ match: "gemini-2.5-flash*", effort: { none: { as: "none", changed: false } } }],
});
