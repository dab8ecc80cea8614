/** The record of a turn: the answer gathered for the store while it runs, and its account at the end. */

import type { AnswerForm, KeptAnswer, KeptItem } from "../../dialects/dialect.ts";
import type { ResponseRecord, StoredItem, StoredTurn, UsageEntry } from "../../history/log.ts";
import { noStore } from "../../history/none.ts";
import type { Outcome, TurnDone } from "../../observe/happening.ts";
import { AnswerFold } from "../../stream/fold.ts";
import { countVerdicts } from "../../tools/plan/plan.ts";
import { Fault } from "../../turn/fault.ts";
import type { Frame } from "../../turn/event.ts";
import type { SharedText } from "../../turn/shared-text.ts";
import { keepsAnswers, sealNote, writeOrigin } from "../history/origin.ts";
import { threadRecord } from "../history/thread.ts";
import { reportTrouble, toFault } from "../http/to-fault.ts";
import type { Config } from "../config.ts";
import type { GatewayState } from "../state.ts";
import { keptPlan, planRecord, reportPlan } from "./plan-record.ts";
import { spendOf } from "./prices.ts";
import type { Round } from "./round.ts";
import type { Run } from "./run.ts";
import { ThoughtKeeper } from "./thoughts.ts";

/** An answer as its client sees it, gathered for the store while it is written. */
export class AnswerRecord {
  readonly #form: AnswerForm | undefined;
  /** The items so far. */
  readonly items: KeptItem[] = [];
  #written: Omit<KeptAnswer, "items"> | undefined;
  #sent: string | undefined;
  #own: KeptAnswer | undefined;

  constructor(form: AnswerForm | undefined) {
    this.#form = form;
  }

  /** An item is closed. */
  readonly keep = (id: string, json: string): void => void this.items.push({ id, json });

  /** The answer has ended. */
  readonly record = (json: string, shared?: SharedText): void => {
    this.#written = { json, shared };
    this.#sent = undefined;
  };

  /** The client is sent the upstream's own frame. */
  forwarded({ data }: Pick<Frame, "data">): void {
    this.#sent = data;
  }

  /** The whole answer; undefined while it is not over. */
  whole(): KeptAnswer | undefined {
    if (this.#sent !== undefined) this.#own ??= this.#form?.answerIn(this.#sent);
    return this.#own ?? (this.#written && { ...this.#written, items: this.items });
  }
}

/** Prepares to gather what the store keeps of an answer. */
export function keepAnswer(run: Run): void {
  const { state, answers, turn } = run;
  if (run.thread !== undefined || run.completion !== undefined) run.told = new AnswerFold();
  if (state.store === noStore) return;
  const isWanted = run.conversation !== undefined || answers?.isWanted(turn) === true;
  if (run.isPrivate || isWanted) run.record = new AnswerRecord(answers);
  run.isStoredFirst = (run.record ?? run.told) !== undefined;
  const { params, tools } = turn;
  if (!run.route.wantsThoughts || tools.length === 0) return;
  if (params.store === false || params.n !== undefined) return;
  run.thoughts = new ThoughtKeeper(turn, () => (run.round?.link ?? run.chain[0]).name);
}

/** Result of a write: true if the turn is stored. A store in memory gives it at once. */
type Saving = boolean | Promise<boolean>;

/** Milliseconds for which the end of an answer waits for the store. */
const WAIT_MS = 2000;

/** Stores an answer before its end is sent; false if that takes too long. Undefined: the end need not wait. */
export function saveBeforeEnd(run: Run): Promise<boolean> | undefined {
  if (!run.isStoredFirst) return undefined;
  const { store, clock, report } = run.state;
  const saving = save(run, run.done(run.outcome, 200, run.fault));
  if (typeof saving === "boolean") return saving ? undefined : Promise.resolve(false);
  const late = (fault?: Fault): false => {
    report({ type: "store", event: "late", requestId: run.requestId, fault: fault?.code });
    return false;
  };
  const trouble = store.trouble();
  if (trouble !== undefined) return Promise.resolve(late(trouble));
  return new Promise((resolve) => {
    const cancel = clock.at(clock.now() + WAIT_MS, () => resolve(late()));
    void saving.then(resolve).finally(cancel);
  });
}

/** Writes what a turn leaves behind. A failure is reported and changes no answer. */
function save(run: Run, done: TurnDone): Saving {
  const { state, conversation, requestId } = run;
  run.isSaved = true;
  if (state.store === noStore) return false;
  const failed = (error: unknown): false => (toFault(error, state.report, requestId), false);
  try {
    const saving = appendTurn(state, storedTurn(run, done), requestId);
    if (conversation === undefined) return saving;
    const released = async (isStored: boolean): Promise<boolean> =>
      conversation.release().then(() => isStored);
    return Promise.resolve(saving).then(released).catch(failed);
  } catch (error) {
    return failed(error);
  }
}

const none: readonly never[] = [];

/** Appends a turn to the log. A failure is reported; the usage of the turn still counts. */
export function appendTurn(
  { store, report }: Pick<GatewayState, "store" | "report">,
  turn: StoredTurn,
  requestId: string,
): Saving {
  const failed = (error: unknown): false => {
    // A Fault of a store names its database and the remedy; other errors may quote their data.
    if (!(error instanceof Fault)) reportTrouble(error, report, requestId);
    else {
      const { code: fault, message: problem } = error;
      report({ type: "store", event: "lost", requestId, fault, problem });
      const { tenant, at, usage } = turn;
      if (fault === "store.superseded")
        store.append({ tenant, at, items: none, usage })?.catch(() => {});
    }
    return false;
  };
  try {
    return store.append(turn)?.then(() => true, failed) ?? true;
  } catch (error) {
    return failed(error);
  }
}

/** A turn as the log takes it; only its usage if no upstream was asked. */
function storedTurn(run: Run, done: TurnDone): StoredTurn {
  const { tenant, round, record, conversation, answerId, isPrivate, seals } = run;
  const { at, outcome } = done;
  const usage = usageEntry(done, run.state.config);
  if (round === undefined || run.rounds === 0) return { tenant, at, items: none, usage };
  const answer = record?.whole();
  const isBegun = answer !== undefined && run.start !== undefined;
  let items: readonly StoredItem[] = answer?.items ?? record?.items ?? none;
  let response = isBegun ? responseRecord(run, round, answer) : undefined;
  let list: StoredTurn["list"];
  // A client that was sent a part of an answer sends the conversation again.
  const hasEnded = outcome === "completed" || outcome === "incomplete";
  const text = hasEnded && run.told !== undefined ? run.wholeAnswer() : undefined;
  if (text !== undefined) {
    const { thread, completion, turn } = run;
    if (thread !== undefined) ({ response, items } = threadRecord(thread, answerId, text));
    const json = conversation === undefined && completion?.completionIn(text, turn.body);
    if (completion !== undefined && json)
      list = { json: JSON.stringify(json), items: completion.messagesIn(turn.body, answerId) };
  }
  let entry: StoredTurn["conversation"];
  if (conversation !== undefined) {
    const { id, owner } = conversation;
    const input = response?.input;
    if (hasEnded && input !== undefined) entry = { id, owner, items: [...input, ...items] };
    // The conversation takes in the turn even if its client wants nothing stored.
    if (!isPrivate && run.answers?.isWanted(run.turn) !== true)
      [items, response] = [none, undefined];
  }
  const thoughts = isPrivate ? none : (run.thoughts?.items() ?? none);
  // Marked reasoning names its upstream itself.
  const isMarked = round.plan.seal !== undefined || seals.length === 0;
  const upstream = round.link.upstream.name;
  const sealNotes = isMarked ? none : seals.map((seal) => sealNote(seal, upstream));
  return {
    tenant,
    at,
    answerId,
    items,
    notes: [...thoughts, ...sealNotes],
    response,
    list,
    plan: keptPlan(round, run),
    isPrivate,
    lease: run.lease,
    conversation: entry,
    usage,
  };
}

/**
 * The entry of a turn in the usage sums, under the configured name that the client asked for, or
 * else under `upstream/model`.
 */
export function usageEntry(
  turn: TurnDone,
  { models, prices }: Pick<Config, "models" | "prices">,
): UsageEntry {
  const name = Object.hasOwn(models, turn.model) ? turn.model : turn.upstream;
  return {
    model: name.slice(0, 200),
    failed: turn.outcome === "failed",
    usage: turn.usage,
    cost: spendOf(prices, turn)?.cost,
    calls: turn.calls.given,
    truncated: turn.calls.truncated,
  };
}

/** An answer of several rounds has the id of the first; its upstream continues it from the last. */
function responseRecord(
  { answers, added, turn, upstreamAnswerId, state }: Run,
  { profile, link }: Round,
  { json, shared }: KeptAnswer,
): ResponseRecord {
  const isKept = upstreamAnswerId !== undefined && keepsAnswers(profile, turn.dialect);
  return {
    previous: added.previous,
    input: added.input ?? answers?.inputOf(added.body, state.newId) ?? none,
    json,
    shared,
    origin: isKept
      ? writeOrigin({ upstream: link.upstream.name, id: upstreamAnswerId })
      : undefined,
  };
}

/** Gives back what a turn held, and reports its account to metrics, log, console, recording, store and spans. */
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
