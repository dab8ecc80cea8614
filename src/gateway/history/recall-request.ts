import { toolsetOf } from "../../tools/plan/toolset.ts";
import type { Turn } from "../../turn/turn.ts";
import { isLong, type Rest } from "../http/steps.ts";
import { onceReady } from "../http/read-body.ts";
import { foldTools, mayFold } from "../fold/fold.ts";
import type { RequestContext } from "../state.ts";
import { listsFor, routeFor } from "../run/select.ts";
import { turnOptions } from "../http/turn-headers.ts";
import { inConversation } from "./conversation.ts";
import { openSeals } from "./open-seals.ts";
import { type ReadBody, recall, type Recalled } from "./recall.ts";

export type AskedRequest = Pick<ReadBody, "dialect" | "body" | "params" | "readOnly">;

/**
 * Goes on with a request once all that it refers to is there: at once where that
 * is nothing. The conversation of one that fails on the way is released.
 */
export function recallRequest(
  context: RequestContext,
  asked: AskedRequest,
  then: (request: Recalled) => void | Promise<void>,
): void | Promise<void> {
  const { state, exchange, tenant, memory } = context;
  const { headers, body: text } = exchange;
  const rest = isLong(text) ? state.steps.resting() : undefined;
  const begin = (): Recalled | Promise<Recalled> =>
    inConversation(state, { ...asked, tenant, headers, text, weigh: memory.load }, (body) =>
      recall(state, body),
    );
  const lists = listsFor(asked.body.model, state);
  const own = lists === undefined ? begin() : lists.then(begin);
  const open = (one: Recalled): Recalled | Promise<Recalled> =>
    orRelease(one, () => openSeals(one, { tenant, dialect: asked.dialect, seals: state.seals }));
  const request = own instanceof Promise ? own.then(open) : open(own);
  const goOn = (one: Recalled): void | Promise<void> => orRelease(one, () => then(one));
  if (rest === undefined)
    return request instanceof Promise ? onceReady(context, request, goOn, release) : goOn(request);
  const next = async (): Promise<Recalled> => {
    const one = await request;
    await rest();
    await planAhead(context, one.turn, rest);
    return one;
  };
  return onceReady(context, next(), goOn, release);
}

const release = ({ conversation }: Recalled): Promise<void> | undefined => conversation?.release();

/** Plans the tools of a turn and folds them, each in a step: what comes of it is found again by the list of tools. */
async function planAhead(context: RequestContext, turn: Turn, rest: Rest): Promise<void> {
  const { state } = context;
  try {
    const route = routeFor(state, turn.model);
    const [{ profile }] = route.chain;
    const settings = turnOptions(context, route).disclosure;
    toolsetOf(turn, profile);
    await rest();
    if (mayFold(turn, [profile], settings)) foldTools(turn, profile, settings);
    await rest();
  } catch {
    return; // It fails again, and is reported, where it is needed.
  }
}

/** The conversation of a request that is refused is free before its client hears of that. */
function orRelease<Result>(
  { conversation }: Recalled,
  step: () => Result | Promise<Result>,
): Result | Promise<Result> {
  const release = (error: unknown): Promise<never> => {
    if (conversation === undefined) throw error;
    return conversation
      .release()
      .catch(() => {}) // Its lease ends by itself.
      .then(() => {
        throw error;
      });
  };
  try {
    const result = step();
    return result instanceof Promise ? result.catch(release) : result;
  } catch (error) {
    return release(error);
  }
}
