/** Writes how much the model shall think: as a level, or as a budget of tokens. */

import type { Decision } from "../../turn/decision.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile, ThinkingBudgets } from "../../turn/profile.ts";
import type { Fields, Params, Turn } from "../../turn/turn.ts";
import { effortOf, isAbove, nearestEffort } from "../shared/effort.ts";

/** Budgets of tokens by effort; higher efforts get the most that the model takes. */
const budgets: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
};

/** Receives a difference between a parameter that the client asks for and the request. */
export type NoteParam = (name: keyof Params, action: Decision["action"], reason: string) => void;

/** The configuration of thinking; undefined if there is nothing to configure. */
export function writeThinking(
  turn: Turn<UpstreamName>,
  profile: Profile,
  note: NoteParam,
): Fields | undefined {
  const { effort: said, thinkingBudget, thinking, reasoningSummary } = turn.params;
  const effort = said ?? (thinking === "disabled" ? "none" : undefined);
  const rule = profile.thinking;
  const config: Record<string, unknown> = {};
  const asked: keyof Params =
    said !== undefined ? "effort" : thinkingBudget !== undefined ? "thinkingBudget" : "thinking";
  if (effort !== undefined || thinkingBudget !== undefined) {
    if (rule === undefined) {
      if (thinkingBudget !== undefined) config.thinkingBudget = thinkingBudget;
      else if (effort !== undefined) config.thinkingLevel = effort.toUpperCase();
    } else if (rule.budgets !== undefined) {
      const budget = thinkingBudget ?? budgetFor(effort ?? "", rule.budgets);
      const fit = fitted(budget, rule.budgets);
      if (fit !== budget || (effort !== undefined && isAbove(effort, "high")))
        note(asked, "changed", `the nearest budget of this model is ${fit} tokens`);
      config.thinkingBudget = fit;
    } else if (rule.efforts.length === 0) {
      if (effort !== "none" && thinkingBudget !== 0)
        note(asked, "dropped", "the model has no control of its thinking");
    } else {
      const word = thinkingBudget === undefined ? (effort ?? "") : effortOf(thinkingBudget);
      const level = nearestEffort(word, rule.efforts) ?? word;
      if (thinkingBudget !== undefined)
        note("thinkingBudget", "changed", `the model takes a level in place of it: \`${level}\``);
      else if (level !== word)
        note(asked, "changed", `the model has nothing nearer than \`${level}\``);
      config.thinkingLevel = level.toUpperCase();
    }
  }
  const canShow = rule?.display !== false;
  const isShown =
    reasoningSummary === undefined
      ? turn.dialect !== "gemini" && effort !== undefined && effort !== "none"
      : reasoningSummary !== "none" && reasoningSummary !== "omitted";
  if (isShown && canShow) config.includeThoughts = true;
  return Object.keys(config).length === 0 ? undefined : config;
}

/** Unknown efforts leave it to the model. */
const budgetFor = (effort: string, { most }: ThinkingBudgets): number =>
  budgets[effort] === undefined ? (isAbove(effort, "high") ? most : -1) : budgets[effort];

/** A budget within the limits; -1 leaves it to the model. */
function fitted(budget: number, { least, most, off }: ThinkingBudgets): number {
  if (budget < 0 || (budget === 0 && off)) return Math.max(budget, -1);
  return Math.min(Math.max(budget, least), most);
}
