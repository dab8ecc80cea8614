import { declarationsOf, declaredBy, toolsetOf } from "../../tools/plan/toolset.ts";
import { ruleFor } from "../../tools/plan/declare.ts";
import { type Strategy, type ToolSupport, toolSupportOf } from "../../agent/strategy.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Tool, Turn } from "../../turn/turn.ts";
import type { Candidates } from "./candidates.ts";
import { toolBytes } from "./bytes.ts";
import type { DisclosureSettings } from "./settings.ts";

/** What decides how tools are folded for an upstream. */
export const foldingOn = (profile: Profile): ToolSupport =>
  toolSupportOf(profile, ruleFor("tool_search", profile));

/** Whether a turn could be folded at all; asked of every request, so it must cost next to nothing. */
export function mayFold(
  turn: Turn,
  profiles: readonly Profile[],
  { mode, thresholds }: DisclosureSettings,
): boolean {
  if (mode === "off" || mode === "eager" || (turn.params.n ?? 1) > 1) return false;
  const count = turn.items.reduce(
    (sum, item) => sum + countOf(declaredBy(item)?.tools ?? []),
    countOf(turn.tools),
  );
  if (count === 0) return false;
  if (profiles.some(({ tools }) => count > tools.max)) return true;
  if (mode === "fit") return false;
  if (mode !== "auto" || count > thresholds.tools || isSearching(turn)) return true;
  return declarationsOf(turn) !== turn.tools || toolBytes(turn.tools) > thresholds.bytes;
}

const countOf = (tools: readonly Tool[]): number =>
  tools.reduce((sum, tool) => sum + (tool.type === "namespace" ? tool.tools.length : 1), 0);

/** Whether the client has tools loaded by a search. */
export const isSearching = ({ tools }: Turn): boolean =>
  tools.some((tool) => tool.type === "builtin" && tool.kind.startsWith("tool_search"));

/** Whether an upstream takes fewer tools than a request has. */
function isOverLimit(
  turn: Turn,
  profile: Profile,
  { deferrable, fixed, forbidden }: Candidates,
): boolean {
  const { max } = profile.tools;
  if (deferrable.length + fixed.length + forbidden.length <= max) return false;
  return toolsetOf(turn, profile).offered.length > max;
}

/** Whether the tools of a request are to be folded for an upstream. */
export function needsFolding(
  turn: Turn,
  profile: Profile,
  candidates: Candidates,
  { mode, thresholds }: DisclosureSettings,
): boolean {
  const { deferrable } = candidates;
  if (deferrable.length + candidates.forbidden.length === 0) return false;
  if (isOverLimit(turn, profile, candidates)) return true;
  // Who defers already knows best what to load, if the upstream can load it.
  if (mode === "fit" || (isSearching(turn) && foldingOn(profile).capabilities.deferred))
    return false;
  if (deferrable.length === 0) return false;
  if (mode !== "auto") return true;
  return (
    deferrable.length > thresholds.tools ||
    toolBytes(deferrable.map(({ tool }) => tool)) > thresholds.bytes ||
    (isSearching(turn) && deferrable.some(({ isMarked }) => isMarked))
  );
}

/**
 * The strategy for an upstream. The gateway does not see how a conversation goes
 * on, so tools are only added to the list where no prompt is cached.
 */
export function strategyFor(
  { mode }: DisclosureSettings,
  profile: Profile,
): Exclude<Strategy, "eager"> {
  const { capabilities: can, supportsDynamicTools } = foldingOn(profile);
  switch (mode) {
    case "wrap":
    case "restart":
      return mode;
    case "append":
      return supportsDynamicTools ? mode : "restart";
    default:
  }
  if (can.deferred) return "native";
  return supportsDynamicTools && !can.cachedTools ? "append" : "wrap";
}
