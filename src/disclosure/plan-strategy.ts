import type { Fields } from "../turn/turn.ts";
import type { Adapter } from "./adapter.ts";
import type { Agent } from "./agent.ts";
import { declarationOf } from "./lower.ts";
import { render } from "./render.ts";
import { headOverridesIn, threadIn, type Session } from "./session.ts";
import {
  chooseStrategy,
  strategies,
  supported,
  type Load,
  type Strategy,
  type Thresholds,
} from "./strategy.ts";
import { stateOf } from "./visibility.ts";

export type StrategyQuestion = {
  readonly agent: Pick<Agent<never, unknown>, "catalog">;
  readonly params: Fields;
  readonly adapter: Adapter;
  readonly session: Session;
  readonly asked: Strategy | "auto";
  readonly thresholds?: Thresholds | undefined;
};

/** The strategy of a run. A conversation under way keeps its own: another would send all of it anew. */
export function planStrategy(question: StrategyQuestion): Strategy {
  const { adapter, session, asked, thresholds } = question;
  const { capabilities, name } = adapter;
  if (asked !== "auto") return supported(asked, capabilities, name);
  const thread = threadIn(session.events);
  const known = strategies.find((one) => one === thread?.strategy);
  if (thread?.adapter === name && known !== undefined) return known;
  return chooseStrategy(
    capabilities,
    loadOf(question),
    thresholds === undefined ? {} : { thresholds },
  );
}

/** What would be behind a loader: tools and texts that are not there when the conversation begins. */
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
  return { tools, bytes: definitions + texts, history: JSON.stringify(session.items).length };
}
