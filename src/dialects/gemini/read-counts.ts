/** Reads the parts of an answer beside its content: counts and log-probabilities. */

import type { Usage } from "../../turn/event.ts";
import type { Fields } from "../../turn/turn.ts";
import { countOf, fieldsOf, filledText, given, listOf, numberOf } from "../shared/loose.ts";
import { geminiExtra } from "./wire.ts";

const counts = new Set([
  "promptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
  "cachedContentTokenCount",
  "totalTokenCount",
]);

/** The counts of an answer so far; undefined if there are none. Each replaces the one before. */
export function readUsage(raw: unknown): Usage | undefined {
  const usage = fieldsOf(raw);
  if (usage === undefined) return undefined;
  const prompt = countOf(usage.promptTokenCount);
  const said = countOf(usage.candidatesTokenCount);
  const reasoning = countOf(usage.thoughtsTokenCount);
  const tools = countOf(usage.toolUsePromptTokenCount);
  const total = countOf(usage.totalTokenCount);
  if ([prompt, said, reasoning, total].every((count) => count === undefined)) return undefined;
  const input = (prompt ?? 0) + (tools ?? 0);
  // The output of this dialect does not include thoughts, that of all others does.
  const output = (said ?? 0) + (reasoning ?? 0);
  const more = Object.entries(usage).filter(([key, value]) => !counts.has(key) && value != null);
  return {
    input,
    output,
    total: total ?? input + output,
    cached: countOf(usage.cachedContentTokenCount),
    reasoning,
    ...geminiExtra(Object.fromEntries(more)),
  };
}

/** The log-probabilities of a chunk, in the form of other dialects. */
export function readLogprobs(raw: unknown): readonly Fields[] | undefined {
  const { chosenCandidates, topCandidates } = fieldsOf(raw) ?? {};
  const chosen = listOf(chosenCandidates);
  if (chosen === undefined) return undefined;
  const top = listOf(topCandidates) ?? [];
  const others = (at: number): readonly Fields[] =>
    (listOf(fieldsOf(top[at])?.candidates) ?? []).map(readToken);
  return chosen.map((one, at) => Object.assign({ top_logprobs: others(at) }, readToken(one)));
}

/** Compatible clients fail without a number. */
const readToken = (raw: unknown): Fields => {
  const { token, logProbability, tokenId } = fieldsOf(raw) ?? {};
  return {
    token: filledText(token) ?? "",
    logprob: numberOf(logProbability) ?? 0,
    ...given({ token_id: numberOf(tokenId) }),
  };
};
