import type { Fields } from "../turn/turn.ts";
import type { Adapter } from "./adapter.ts";
import type { Agent } from "./agent.ts";
import { declarationOf } from "./lower.ts";
import { render } from "./render.ts";
import { headOverridesIn, threadIn, type Session } from "./session.ts";
import { chooseStrategy, strategies, supported, type Load, type Strategy } from "./strategy.ts";
import { isClosable, stateOf } from "./visibility.ts";

export type StrategyQuestion = {
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
