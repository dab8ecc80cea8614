/** The walk of a turn: its body is read, what it refers to is recalled, its model selected, and then it runs. */

import type { DoorDialect } from "../../dialects/dialect.ts";
import { noStore } from "../../history/none.ts";
import { startSpan } from "../../observe/spans.ts";
import { inputTokens } from "../../upstreams/tokens.ts";
import { mayFold } from "../fold/fold.ts";
import { DisclosureStage } from "../fold/stage.ts";
import { startInBackground } from "../history/background/start.ts";
import type { TurnOverrides } from "../history/compact.ts";
import { recallRequest } from "../history/recall-request.ts";
import { isInBackground, type RecalledRequest } from "../history/recall.ts";
import { withOwnId } from "../history/thread.ts";
import { withBody } from "../http/read-body.ts";
import { turnOptions } from "../http/turn-headers.ts";
import type { RequestContext } from "../state.ts";
import { Rounds } from "./rounds.ts";
import { Run } from "./run.ts";
import { routeFor, type ModelRoute } from "./select.ts";
import { joinStages, pausedStage, type TurnStage } from "./turn-stage.ts";

/** Serves a request for a turn, or a message of a WebSocket, whose store is seen through its connection. */
export function serveTurn(asked: RequestContext, dialect: DoorDialect): void | Promise<void> {
  const { session } = asked.exchange;
  const context =
    session === undefined ? asked : { ...asked, state: session.stateOver(asked.state) };
  const { params } = context;
  return withBody(context, (said) => {
    const message = session === undefined ? undefined : dialect.socket?.readMessage(said);
    const body = message?.body ?? said;
    return recallRequest(context, { dialect, body, params }, (request) =>
      startTurn(context, dialect, request, { generates: message?.generates ?? true }),
    );
  });
}

/** Starts the turn of a request that has been read and recalled. */
export function startTurn(
  context: RequestContext,
  dialect: DoorDialect,
  request: RecalledRequest,
  over: Partial<TurnOverrides & Pick<Run, "generates">>,
): void | Promise<void> {
  const { state, exchange, tenant } = context;
  const { turn } = request;
  const route = routeFor(state, turn.model);
  const run = new Run(context, request, { dialect, route, options: turnOptions(context, route) });
  const { history } = dialect;
  if (state.store !== noStore && history?.type === "completions" && history.isWanted(turn))
    run.completion = history;
  const inBackground = turn.gatewayFields !== undefined && isInBackground(turn);
  run.stage = turnStage(run, route, inBackground);
  const [first] = route.chain;
  const ahead = { upstream: first.name, provider: first.provider, stream: turn.stream };
  run.span = startSpan(ahead, exchange.headers);
  Object.assign(run, over);
  // Last: if something threw after it, such as a stage of a user, the limits would stay taken.
  const size = exchange.body.length + (request.bytes ?? 0);
  run.limits = state.limits.enter(tenant, size, () => inputTokens(turn));
  run.memory = context.memory.keep();
  for (const { users } of run.chain) users.count++;
  const form = inBackground ? run.answers : undefined;
  if (form !== undefined) return startInBackground(context, run, form);
  new Rounds(run).begin();
}

/** The stages of a turn as one: its own id, a provider's pauses, folded tools, and those of the user. */
function turnStage(run: Run, route: ModelRoute, inBackground: boolean): TurnStage | undefined {
  const { turn, state } = run;
  const stages: TurnStage[] = [];
  if (run.thread !== undefined || run.completion !== undefined || inBackground)
    stages.push(withOwnId());
  const paused = route.pausing.length === 0 ? undefined : pausedStage(turn, route.pausing);
  if (paused !== undefined) stages.push(paused);
  const { disclosure } = run.options;
  if (mayFold(turn, route.profiles, disclosure)) {
    const folding = new DisclosureStage(turn, disclosure);
    run.disclosure = folding.figures;
    stages.push(folding);
  }
  for (const make of state.stages ?? []) {
    const stage = make(turn);
    if (stage !== undefined) stages.push(stage);
  }
  return stages.length < 2 ? stages[0] : joinStages(stages);
}
