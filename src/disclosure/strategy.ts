/** The strategies by which sections reach a model, and the choice among them. */

import { Fault } from "../turn/fault.ts";
import type { KindRule, Profile } from "../turn/profile.ts";
import type { Tool } from "./tool.ts";

/**
 * How sections reach a model.
 * `eager`: all of them, whole. `native`: all tools, those of closed sections
 * marked as deferred. `wrap`: open tools and `call_tool`, never changing.
 * `append`: the list of tools grows. `restart`: it grows in a new conversation.
 */
export const strategies = ["eager", "native", "wrap", "append", "restart"] as const;
export type Strategy = (typeof strategies)[number];

/** What decides how tools can be added to a conversation. */
export type Capabilities = {
  /** Whether the provider keeps tools that are marked as deferred out of the prompt until they are loaded. */
  readonly deferred: boolean;
  /** Whether the tools may differ between two requests of one conversation. */
  readonly dynamicTools: boolean;
  /** Whether tools stand in a cached prefix: changing them bills the whole conversation again. */
  readonly cachedTools: boolean;
  readonly maxTools: number;
  /** How long the description of a tool may be. */
  readonly maxDescription: number;
};

/** How much there is to disclose. */
export type Load = {
  /** The tools that would be behind a loader. */
  readonly tools: readonly Tool[];
  /** The length of their definitions and of the texts of their sections. */
  readonly bytes: number;
  /** The length of the conversation so far. */
  readonly history: number;
};

export type Thresholds = {
  /** Up to so many tools are sent as they are. */
  readonly tools: number;
  /** Up to so many bytes of definitions are. */
  readonly bytes: number;
};

const THRESHOLDS: Thresholds = { tools: 24, bytes: 32_000 };

/** A cached prefix that is lost costs 1.25 for each token instead of 0.1. */
const REWRITE_COST = 1.15;

/** The strategy that costs least. `wrap: false` where calls must not go through `call_tool`. */
export function chooseStrategy(
  can: Capabilities,
  { tools, bytes, history }: Load,
  { wrap = true, thresholds = THRESHOLDS }: { wrap?: boolean; thresholds?: Thresholds } = {},
): Strategy {
  const isSmall = tools.length <= thresholds.tools && bytes <= thresholds.bytes;
  if (isSmall && tools.length <= can.maxTools) return "eager";
  if (can.deferred) return "native";
  if (can.dynamicTools && (!can.cachedTools || history * REWRITE_COST < bytes)) return "append";
  if (wrap) return "wrap";
  return can.dynamicTools ? "append" : "restart";
}

/** The asked strategy as far as an upstream has it: where tools are fixed, `append` is `restart`. */
export function supported(asked: Strategy, can: Capabilities, adapter: string): Strategy {
  if (asked === "append" && !can.dynamicTools) return "restart";
  if (asked === "native" && !can.deferred)
    throw new Fault(
      "agent.invalid",
      `\`${adapter}\` does not load deferred tools, so the strategy \`native\` has no loader there. Use \`wrap\`, \`append\` or \`auto\`.`,
    );
  return asked;
}

/** What decides how tools can be added on an upstream; `search` is what it does with `tool_search`. */
export function capabilitiesOf({ tools }: Profile, search: KindRule): Capabilities {
  const { deferred, declares, cached, max, descriptions = Infinity } = tools;
  return {
    // Tools that were loaded come with the result of a search.
    deferred: deferred && search === "native",
    dynamicTools: declares === "turn",
    cachedTools: cached,
    maxTools: max,
    maxDescription: descriptions,
  };
}
