/** What the gateway asks of whoever records turns: whether to, and to be shown what passes. */

import type { Source } from "../../stream/flow.ts";
import type { TurnDone } from "../../observe/happening.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Tenant } from "../../turn/tenant.ts";
import { tappedSource, type WireTap } from "../../upstreams/tap.ts";
import type { OpenOptions } from "../../upstreams/upstream.ts";
import type { Config } from "../config.ts";
import type { Exchange } from "../http/exchange.ts";
import { planRecord, reportPlan, type PlanReport } from "../http/plan-report.ts";
import type { Round } from "./round.ts";
import type { Run } from "./run.ts";

/** Records turns, or does not. Given by the host: what it keeps is kept in files. */
export type Recorder = {
  /** Asked once for each request to a door; undefined: it is not recorded, and nobody is in its way. */
  begin(request: RecordedRequest): StartedRecording | undefined;
};

export type RecordedRequest = {
  /** With its body. */
  readonly exchange: Exchange;
  readonly requestId: string;
  readonly tenant: Tenant;
  readonly config: Config;
};

export type StartedRecording = {
  /** The same exchange; its reply and the turn's upstream calls are seen by the recorder. */
  readonly exchange: Exchange;
};

/** The record of one turn while it runs. */
export type TurnRecording = {
  readonly tap: WireTap;
  /** The request has become a turn. `chain`: as `upstream/model`. */
  begun(asked: { readonly model: string; readonly chain: readonly string[] }): void;
  ended(done: TurnDone, plan: PlanReport | undefined): void;
};

/** The exchange that is served: where it is to be recorded, one that shows what passes. */
export function maybeRecorded(recorder: Recorder | undefined, request: RecordedRequest): Exchange {
  return recorder?.begin(request)?.exchange ?? request.exchange;
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

/** Hands over the account of a turn and its plan, where it is recorded. */
export function endRecording(run: Run, done: TurnDone): void {
  const { recording, round } = run;
  recording?.ended(done, round && reportPlan(planRecord(round, run)));
}
