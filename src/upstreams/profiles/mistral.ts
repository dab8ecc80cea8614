import { extendProfile, openaiOnly } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

/**
 * Mistral. From the request types of mistralai/client-python, the validator of
 * mistralai/mistral-common, and refusals in litellm#30835 (reasoning) and
 * anon-kode#53 (stream options). Read 2026-11.
 *
 * It refuses every field it does not know. Call ids are nine letters or digits;
 * a system message may not follow an answer. Its streams count tokens unasked.
 * It takes reasoning back as parts of the content only, which is not written.
 * mistral-large has no reasoning effort; the models that have one may be given
 * `params.effort`. Inferred: the number of tools, and that nothing is cached.
 */
export const mistral = extendProfile(genericChat, {
  name: "mistral",
  tools: { cached: false },
  params: {
    ...openaiOnly,
    seed: "random_seed",
    metadata: "metadata",
    prediction: "prediction",
    effort: null,
    user: null,
    logitBias: null,
    logprobs: null,
  },
  reasoning: "none",
  streamUsage: false,
  history: {
    lateSystem: false,
    empty: false,
    media: ["image"],
    ids: { chars: "A-Za-z0-9", max: 9, exact: true },
  },
});
