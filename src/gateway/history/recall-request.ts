import { toolsetOf } from "../../tools/plan/toolset.ts";
import type { Turn } from "../../turn/turn.ts";
import { isLong, type Rest } from "../http/steps.ts";
import { onceReady } from "../http/read-body.ts";
import { foldTools, mayFold } from "../fold/fold.ts";
import type { RequestContext } from "../state.ts";
import { listsFor, routeFor } from "../run/select.ts";
import { turnOptions } from "../http/turn-headers.ts";
import { openSeals } from "./open-seals.ts";
import { type ReadBody, recall, type RecalledRequest } from "./recall.ts";

export type AskedRequest = Pick<ReadBody, "dialect" | "body" | "params" | "readOnly">;

/**
 * Recalls a request and passes it on: at once if it has no references, else when they are
 * loaded. If that fails, the lease of its conversation is released.
 */
export function recallRequest(
  context: RequestContext,
  asked: AskedRequest,
  then: (request: RecalledRequest) => void | Promise<void>,
): void | Promise<void> {
  const { state, exchange, tenant, memory } = context;
  const { headers, body: text } = exchange;
  const rest = isLong(text) ? state.steps.resting() : undefined;
  const begin = (): RecalledRequest | Promise<RecalledRequest> =>
    recall(state, { ...asked, tenant, headers, text, weigh: memory.load });
  const lists = listsFor(asked.params?.model ?? asked.body.model, state);
  const own = lists === undefined ? begin() : lists.then(begin);
  const { history } = asked.dialect;
  const form = history?.type === "answers" ? history.compaction : undefined;
  const open = (one: RecalledRequest): RecalledRequest | Promise<RecalledRequest> =>
    openSeals(one, form, (seal) => state.seals.open(tenant, seal));
  if (rest === undefined && !(own instanceof Promise)) {
    // The request has no conversation to release, because a conversation is loaded.
    const request = form === undefined ? own : open(own);
    return request instanceof Promise ? onceReady(context, request, then) : then(request);
  }
  const ready = async (): Promise<RecalledRequest> => {
    const loaded = await own;
    const one = await orRelease(loaded, () => open(loaded));
    if (rest === undefined) return one;
    await rest();
    await planAhead(context, one.turn, rest);
    return one;
  };
  const start = async (one: RecalledRequest): Promise<void> => orRelease(one, () => then(one));
  return onceReady(context, ready(), start, release);
}

const release = ({ conversation }: RecalledRequest): Promise<void> | undefined =>
  conversation?.release();

/** Plans and folds the tools of a turn, each in its own step. The run finds the remembered results by the list of tools. */
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
    return; // The run plans again, fails again and reports the error.
  }
}

/** Releases the conversation of a request that fails, before its client receives the fault. */
async function orRelease<Result>(
  { conversation }: RecalledRequest,
  step: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    await conversation?.release().catch(() => {}); // Its lease ends by itself.
    throw error;
  }
}
