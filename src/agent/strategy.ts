import { Fault } from "../turn/fault.ts";
import type { KindRule, Profile } from "../turn/profile.ts";

/**
 * The ways of sections to a model.
 * `eager`: all sections, whole. `native`: the provider loads the deferred tools of
 * closed sections. `wrap`: a fixed list of open tools, `read_section` and `call_tool`.
 * `append`: the list of tools grows. `restart`: it grows in a new conversation.
 */
export const strategies = ["eager", "native", "wrap", "append", "restart"] as const;
export type Strategy = (typeof strategies)[number];

/** The provider's handling of the tools of a request. */
export type AdapterCapabilities = {
  /** The provider keeps tools that are marked as deferred out of the prompt until they are loaded. */
  readonly deferred: boolean;
  /** Tools are part of a cached prefix: changing them bills the whole conversation again. */
  readonly cachedTools: boolean;
  readonly maxTools: number;
  /** Longest description of a tool, in characters. */
  readonly maxDescription: number;
};

/** The capabilities that decide the strategy. */
export type ToolSupport = {
  readonly capabilities: AdapterCapabilities;
  /** Tools can be added to a running conversation. Otherwise opening a section with tools restarts it. */
  readonly supportsDynamicTools: boolean;
};

/** The size of closed sections and of the conversation. */
export type Load = {
  /** Number of tools in all sections. */
  readonly tools: number;
  /** Number of tools in closed sections. */
  readonly closedTools: number;
  /** Length of the definitions and texts of closed sections. */
  readonly bytes: number;
  /** Length of the conversation. */
  readonly history: number;
};

/** After a lost cached prefix, a token costs 1.25 instead of 0.1. */
const REWRITE_COST = 1.15;

/** The strategy that opens closed sections at the least cost. */
export function chooseStrategy(on: ToolSupport, load: Load): Exclude<Strategy, "eager"> {
  const { capabilities: can, supportsDynamicTools } = on;
  const growing = supportsDynamicTools ? "append" : "restart";
  // Closed sections without tools never change the list.
  if (load.closedTools === 0) return growing;
  if (can.deferred && supportsDynamicTools) return "native";
  // The loader takes one place of the list.
  if (load.tools >= can.maxTools) return "wrap";
  return !can.cachedTools || load.history * REWRITE_COST < load.bytes ? growing : "wrap";
}

/** Replaces `append` by `restart` if tools are fixed. Throws a Fault for `native` without a loader. */
export function supported(asked: Strategy, on: ToolSupport, adapter: string): Strategy {
  if (asked === "append" && !on.supportsDynamicTools) return "restart";
  if (asked === "native" && !on.capabilities.deferred)
    throw new Fault(
      "agent.invalid",
      `\`${adapter}\` does not load deferred tools, so the strategy \`native\` has no loader there. Use \`wrap\`, \`append\` or \`auto\`.`,
    );
  return asked;
}

/** The tool support that a profile declares; `search` is its rule for `tool_search`. */
export function toolSupportOf({ tools }: Profile, search: KindRule): ToolSupport {
  const { deferred, declares, cached, max, descriptions = Infinity } = tools;
  return {
    supportsDynamicTools: declares === "turn",
    capabilities: {
      // The result of a search brings loaded tools.
      deferred: deferred && search === "native",
      cachedTools: cached,
      maxTools: max,
      maxDescription: descriptions,
    },
  };
}
