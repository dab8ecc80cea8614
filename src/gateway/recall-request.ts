import { afterRecall } from "./after-recall.ts";
import { inConversation } from "./conversation.ts";
import { openSeals } from "./open-seals.ts";
import { recall, type ReadBody, type Recalled } from "./recall.ts";
import type { RequestContext } from "./routes.ts";
import { listsFor } from "./select.ts";

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
  return request instanceof Promise ? afterRecall(context, request, goOn) : goOn(request);
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
