/** The record of a turn: the answer gathered for the store while it runs, and its account at the end. */

import { noStore } from "../../history/none.ts";
import type { Outcome, TurnDone } from "../../observe/happening.ts";
import type { Source } from "../../stream/flow.ts";
import { folding } from "../../stream/fold.ts";
import { countVerdicts } from "../../tools/plan/plan.ts";
import type { Fault } from "../../turn/fault.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { ClientName, UpstreamName } from "../../turn/names.ts";
import { tappedSource } from "../../upstreams/tap.ts";
import type { OpenOptions } from "../../upstreams/upstream.ts";
import type { TurnRecording } from "../http/exchange.ts";
import type { Round } from "./round.ts";
import { recordAnswer } from "./answer-record.ts";
import { keptPlan, planRecord, reportPlan } from "./plan-record.ts";
import { spendOf } from "./prices.ts";
import type { Run } from "./run.ts";
import { saveAnswer } from "./save-answer.ts";
import { unsaved, withinWait, type Saving } from "./save-turn.ts";
import { keepThoughts } from "./thoughts.ts";

/** Prepares to gather what the store keeps of an answer. */
export function keepAnswer(run: Run): void {
  const { state, dialect, turn } = run;
  if (run.thread !== undefined || run.completion !== undefined) run.told = folding<ClientName>();
  if (state.store === noStore) return;
  const isWanted = run.conversation !== undefined || dialect.storage?.isWanted(turn) === true;
  if (run.isPrivate || isWanted) run.record = recordAnswer(dialect);
  run.thoughts = keepThoughts(run, () => run.round?.link ?? run.chain[0]);
}

/** A client that is told that an answer is complete can retrieve it: the end waits until it is stored, or for a while. */
export function saveBeforeEnd(run: Run): Promise<boolean> | undefined {
  const saving = save(run, run.done(run.outcome, 200, run.fault));
  return saving === true ? undefined : withinWait(run.state, saving, run.requestId);
}

function save(run: Run, done: TurnDone): Saving {
  run.isSaved = true;
  const failed = unsaved(run.state.report, run.requestId);
  try {
    const saving = saveAnswer(run, done);
    return typeof saving === "boolean" ? saving : saving.catch(failed);
  } catch (error) {
    return failed(error);
  }
}

/** Gives back what a turn held, and tells metrics, log, console, recording, store and spans of it. */
export function finishRun(
  run: Run,
  outcome: Outcome,
  status: number,
  fault: Fault | undefined,
): void {
  const { state, round } = run;
  const { metrics, config, recent } = state;
  metrics.running.amount--;
  run.leave();
  const done = run.done(outcome, status, fault);
  const spent = spendOf(config.prices, done);
  if (spent !== undefined) metrics.spent(spent.cost, spent.name);
  if (round !== undefined) metrics.tools(countVerdicts(round.plan.verdicts).kinds);
  if (round !== undefined && done.answerId === undefined)
    recent.keepPlan(done.requestId, keptPlan(round, run));
  state.report(done);
  run.recording?.ended(done, round && reportPlan(planRecord(round, run)));
  if (!run.isSaved) void save(run, done);
  run.span?.end(done);
}

/** Opens a round; where its turn is recorded, its bytes are shown or, where there are none, its events. */
export function openTapped(
  { prepared, link: { upstream } }: Round,
  options: OpenOptions,
  recording: TurnRecording | undefined,
): Source<TurnEvent<UpstreamName>> {
  if (recording === undefined) return prepared.open(options);
  const { tap } = recording;
  if (upstream.showsBytes === true) return prepared.open({ ...options, tap });
  const answer = tap.answer(upstream.name);
  const onMessage: OpenOptions["onMessage"] = (direction, message) =>
    answer.message(direction, message);
  return tappedSource(prepared.open({ ...options, onMessage }), answer);
}
