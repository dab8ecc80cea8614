/** The parts of a Gemini answer beside its content, written: ends, counts, log-probabilities. */

import type { StopReason, Usage } from "../../turn/event.ts";
import type { Extra, Fields } from "../../turn/turn.ts";
import { fieldsOf, filledText, given, listOf } from "../shared/loose.ts";
import { finishMeaning, ownGeminiExtra } from "./wire.ts";

const reasons: Readonly<Record<StopReason, string>> = {
  end: "STOP",
  calls: "STOP",
  length: "MAX_TOKENS",
  filter: "SAFETY",
  pause: "MAX_TOKENS",
};

/**
 * The end of a candidate. The fields of its upstream are kept; its reason is, if it is still the
 * same end. `wrong`: the name of a function whose arguments are not an object.
 */
export function writeFinish(stop: StopReason, extra: Extra | undefined, wrong?: string): Fields {
  if (wrong !== undefined)
    return {
      finishReason: "MALFORMED_FUNCTION_CALL",
      finishMessage: `The arguments of the call of \`${wrong}\` are not a JSON object.`,
    };
  const { finishReason: reason, finishMessage, promptFeedback: _, ...more } = ownGeminiExtra(extra);
  const own = filledText(reason);
  if (own !== undefined && (finishMeaning(own) ?? "end") === stop)
    return { finishReason: own, ...given({ finishMessage }), ...more };
  const isPaused = stop === "pause" && more.continuationToken !== undefined;
  return { finishReason: isPaused ? "CONTINUATION" : reasons[stop], ...more };
}

/** The output of this dialect does not include thoughts, that of all others does. */
export function writeUsage(usage: Usage): Fields {
  const { input, output, total, cached, reasoning, extra } = usage;
  const more = ownGeminiExtra(extra);
  const { toolUsePromptTokenCount: tools } = more;
  const ofTools = typeof tools === "number" && tools <= input ? tools : 0;
  return {
    ...more,
    promptTokenCount: input - ofTools,
    candidatesTokenCount: Math.max(0, output - (reasoning ?? 0)),
    ...given({ cachedContentTokenCount: cached, thoughtsTokenCount: reasoning }),
    totalTokenCount: total,
  };
}

/** The log-probabilities of tokens, each with its alternatives if the upstream gives any. */
export function writeLogprobs(logprobs: readonly unknown[]): Fields {
  const tokens = logprobs.map((one) => fieldsOf(one) ?? {});
  const hasOthers = tokens.some(({ top_logprobs: others }) => (listOf(others) ?? []).length > 0);
  return {
    chosenCandidates: tokens.map(writeToken),
    ...(hasOthers && {
      topCandidates: tokens.map(({ top_logprobs: others }) => ({
        candidates: (listOf(others) ?? []).map((one) => writeToken(fieldsOf(one) ?? {})),
      })),
    }),
  };
}

const writeToken = ({ token, logprob, token_id: tokenId }: Fields): Fields =>
  given({ token, logProbability: logprob, tokenId });
