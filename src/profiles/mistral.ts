import { absent, extendProfile } from "./extend.ts";
import { openChat } from "./generic.ts";

/**
 * Mistral. From the request types of mistralai/client-python, the validator of
 * mistralai/mistral-common, and refusals in litellm#30835 (reasoning),
 * mistral-go#3 (names), anon-kode#53 (stream options) and datapizza-ai#98
 * (results); which models have an effort, of two steps, from models.dev and
 * pydantic-ai#5285. Read 2026-11.
 *
 * It refuses every field it does not know. Call ids are nine letters or digits;
 * a system message may not follow an answer, nor a user's the results of calls. Its streams count tokens unasked.
 * It takes reasoning back as parts of the content only, which is not written.
 * Inferred: the number of tools, and that nothing is cached.
 */
export const mistral = extendProfile(openChat, {
  name: "mistral",
  provider: "mistral_ai",
  families: [
    "mistral-*",
    "ministral-*",
    "codestral-*",
    "devstral-*",
    "magistral-*",
    "pixtral-*",
    "open-mistral-*",
  ],
  defaultModel: "mistral-large-latest",
  tools: { cached: false },
  params: {
    ...absent("effort user logitBias logprobs"),
    seed: "random_seed",
    metadata: "metadata",
    prediction: "prediction",
  },
  reasoning: "none",
  streamUsage: false,
  history: {
    lateSystem: false,
    empty: false,
    names: false,
    behindResults: "Noted.",
    media: ["image"],
    ids: { chars: "A-Za-z0-9", max: 9, exact: true },
  },
  models: [
    {
      match: [
        "mistral-small-2603",
        "mistral-small-latest",
        "mistral-medium-2604",
        "mistral-medium-3-5",
      ],
      params: { effort: "reasoning_effort" },
      effort: {
        none: { as: "none" },
        medium: { as: "high" },
        high: { as: "high" },
        "*": { as: "high", changed: true },
      },
    },
  ],
});
