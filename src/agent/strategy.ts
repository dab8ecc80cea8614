/** The strategies by which sections reach a model, and the choice among them. */
import { Fault } from "../turn/fault.ts";
import type { KindRule, Profile } from "../turn/profile.ts";
import type { Fields } from "../turn/turn.ts";
import type { Adapter } from "./adapter.ts";
import type { Agent } from "./agent.ts";
import { declarationOf } from "./lower.ts";
import { isClosable, render, stateOf } from "./catalog.ts";
import { headOverridesIn, type Session, threadIn } from "./session.ts";

/**
 * How sections reach a model.
 * `eager`: all of them, whole. `native`: all tools, those of closed sections
 * marked as deferred. `wrap`: open tools and `call_tool`, never changing.
 * `append`: the list of tools grows. `restart`: it grows in a new conversation.
 */
export const strategies = ["eager", "native", "wrap", "append", "restart"] as const;
export type Strategy = (typeof strategies)[number];

/** The provider's handling of the tools of a request. */
export type Capabilities = {
  /** Whether the provider keeps tools that are marked as deferred out of the prompt until they are loaded. */
  readonly deferred: boolean;
  /** Whether tools stand in a cached prefix: changing them bills the whole conversation again. */
  readonly cachedTools: boolean;
  readonly maxTools: number;
  /** How long the description of a tool may be. */
  readonly maxDescription: number;
};

/** The facts that decide how tools reach a model after its conversation has begun. */
export type ToolSupport = {
  readonly capabilities: Capabilities;
  /** Whether tools can be added to a conversation under way; where not, opening a section with tools restarts it. */
  readonly supportsDynamicTools: boolean;
};

/** How much there is to disclose. */
export type Load = {
  /** The number of tools of all sections. */
  readonly tools: number;
  /** The number of those in closed sections. */
  readonly closedTools: number;
  /** The length of their definitions and of the texts of their sections. */
  readonly bytes: number;
  /** The length of the conversation so far. */
  readonly history: number;
};

/** A cached prefix that is lost costs 1.25 for each token instead of 0.1. */
const REWRITE_COST = 1.15;

/** The strategy that opens closed sections at the least cost. Which sections are closed is not decided here. */
export function chooseStrategy(on: ToolSupport, load: Load): Exclude<Strategy, "eager"> {
  const { capabilities: can, supportsDynamicTools } = on;
  const growing = supportsDynamicTools ? "append" : "restart";
  // Without tools to open the list stays as it is, and a text needs no other loader.
  if (load.closedTools === 0) return growing;
  if (can.deferred && supportsDynamicTools) return "native";
  // One place is the loader's.
  if (load.tools >= can.maxTools) return "wrap";
  return !can.cachedTools || load.history * REWRITE_COST < load.bytes ? growing : "wrap";
}

/** The asked strategy as far as an adapter has it: where tools are fixed, `append` is `restart`. */
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
      // Tools that were loaded come with the result of a search.
      deferred: deferred && search === "native",
      cachedTools: cached,
      maxTools: max,
      maxDescription: descriptions,
    },
  };
}

type StrategyQuestion = {
  readonly agent: Pick<Agent<never, unknown>, "catalog">;
  readonly params: Fields;
  readonly adapter: Adapter;
  readonly session: Session;
  readonly asked: Strategy | "auto";
};

/**
 * The strategy of a run. A conversation under way keeps its own, because another
 * would send all of it anew. `eager` shows every section whole, so unless it is
 * asked for it needs a set in which no section can be closed.
 */
export function planStrategy(question: StrategyQuestion): Strategy {
  const { agent, adapter, session, asked } = question;
  if (asked !== "auto") return supported(asked, adapter, adapter.name);
  const thread = threadIn(session.events);
  const kept = strategies.find((one) => one === thread?.strategy) ?? "eager";
  const isKept = kept !== "eager" && thread?.adapter === adapter.name;
  if (isKept && (kept !== "native" || adapter.capabilities.deferred))
    return supported(kept, adapter, adapter.name);
  const { overrides } = session;
  const mayClose = agent.catalog.nodes.some((node) => isClosable(node, overrides));
  return mayClose ? chooseStrategy(adapter, loadOf(question)) : "eager";
}

/** The size of closed sections and of the conversation. */
function loadOf({ agent, params, session }: StrategyQuestion): Load {
  const { catalog } = agent;
  const scope = { params, session };
  const overrides = headOverridesIn(session.events);
  const closed = render(catalog, stateOf(scope, overrides), "");
  const whole = render(catalog, stateOf(scope, overrides, true), "");
  const known = new Set(closed.tools);
  const tools = whole.tools.filter((tool) => !known.has(tool));
  const definitions = JSON.stringify(tools.map(declarationOf)).length;
  const texts = Math.max(0, whole.text.length - closed.text.length);
  return {
    tools: whole.tools.length,
    closedTools: tools.length,
    bytes: definitions + texts,
    history: JSON.stringify(session.items).length,
  };
}
