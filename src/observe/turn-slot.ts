import type { Usage } from "../turn/event.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { AttemptReport, CallDetail, CallFigures, TurnDone } from "./happening.ts";
import type { Writable } from "../turn/writable.ts";

/**
 * A place for a turn that is over, used again for a later one. What is kept of
 * thousands of turns is copied into objects that are already old: a heap that
 * takes in new ones all the time is also collected all the time. Turns of the
 * usual size leave nothing else behind; longer lists are kept as they are.
 */
export class TurnSlot {
  readonly #turn: Writable<TurnDone>;
  readonly #calls: Writable<CallFigures>;
  readonly #usage: Writable<Usage> = { input: 0, output: 0, total: 0 };
  readonly #attempts: [Writable<AttemptReport>];
  readonly #callDetails: [Writable<CallDetail>];
  readonly #callsByChoice: [number] = [0];
  readonly #stops: [TurnDone["stops"][number]] = ["end"];

  constructor(turn: TurnDone) {
    this.#turn = { ...turn };
    this.#calls = { ...turn.calls };
    this.#attempts = [{ upstream: "", atMs: 0, ms: 0 }];
    this.#callDetails = [
      { choice: 0, call: 0, name: "", kind: "", atMs: 0, ms: 0, argumentChars: 0, outcome: "cut" },
    ];
    this.put(turn);
  }

  get requestId(): string {
    return this.#turn.requestId;
  }

  get tenant(): Tenant {
    return this.#turn.tenant;
  }

  /** One that may be held on to, however often the slot is used again. */
  read(): TurnDone {
    const { calls, usage, attempts, callDetails, callsByChoice, stops } = this.#turn;
    return {
      ...this.#turn,
      calls: copyOf(calls),
      usage: usage && copyOf(usage),
      attempts: attempts.map(copyOf),
      callDetails: callDetails.map(copyOf),
      callsByChoice: [...callsByChoice],
      stops: [...stops],
    };
  }

  /** Field by field: to walk the keys would cost ten times as much. */
  put(turn: TurnDone): void {
    const kept = this.#turn;
    kept.at = turn.at;
    kept.requestId = turn.requestId;
    kept.tenant = turn.tenant;
    kept.agent = turn.agent;
    kept.run = turn.run;
    kept.requestBytes = turn.requestBytes;
    kept.toolBytes = turn.toolBytes;
    kept.toolBytesSent = turn.toolBytesSent;
    kept.door = turn.door;
    kept.route = turn.route;
    kept.model = turn.model;
    kept.upstream = turn.upstream;
    kept.provider = turn.provider;
    kept.stream = turn.stream;
    kept.straight = turn.straight;
    kept.rounds = turn.rounds;
    kept.outcome = turn.outcome;
    kept.status = turn.status;
    kept.fault = turn.fault;
    kept.choices = turn.choices;
    kept.rules = turn.rules;
    kept.answerId = turn.answerId;
    kept.answerModel = turn.answerModel;
    kept.plan = turn.plan;
    kept.disclosure = turn.disclosure;
    kept.decisions = turn.decisions;
    kept.ms = turn.ms;
    kept.plannedMs = turn.plannedMs;
    kept.askedMs = turn.askedMs;
    kept.headersMs = turn.headersMs;
    kept.firstEventMs = turn.firstEventMs;
    kept.firstCallMs = turn.firstCallMs;
    kept.calls = this.#putCalls(turn.calls);
    kept.usage = turn.usage && this.#putUsage(turn.usage);
    kept.attempts = this.#putAttempts(turn.attempts);
    kept.callDetails = this.#putCallDetails(turn.callDetails);
    kept.callsByChoice = putOne(this.#callsByChoice, turn.callsByChoice);
    kept.stops = putOne(this.#stops, turn.stops);
  }

  #putCalls(calls: CallFigures): CallFigures {
    const kept = this.#calls;
    kept.given = calls.given;
    kept.withheld = calls.withheld;
    kept.repeated = calls.repeated;
    kept.truncated = calls.truncated;
    kept.stopped = calls.stopped;
    return kept;
  }

  #putUsage(usage: Usage): Usage {
    const kept = this.#usage;
    kept.input = usage.input;
    kept.output = usage.output;
    kept.total = usage.total;
    kept.cached = usage.cached;
    kept.cacheWrite = usage.cacheWrite;
    kept.reasoning = usage.reasoning;
    kept.extra = usage.extra;
    kept.estimated = usage.estimated;
    return kept;
  }

  #putAttempts(attempts: readonly AttemptReport[]): readonly AttemptReport[] {
    const [attempt] = attempts;
    if (attempt === undefined || attempts.length > 1) return attempts;
    const [kept] = this.#attempts;
    kept.upstream = attempt.upstream;
    kept.status = attempt.status;
    kept.fault = attempt.fault;
    kept.reason = attempt.reason;
    kept.waitMs = attempt.waitMs;
    kept.atMs = attempt.atMs;
    kept.ms = attempt.ms;
    return this.#attempts;
  }

  #putCallDetails(calls: readonly CallDetail[]): readonly CallDetail[] {
    const [call] = calls;
    if (call === undefined || calls.length > 1) return calls;
    const [kept] = this.#callDetails;
    kept.choice = call.choice;
    kept.call = call.call;
    kept.name = call.name;
    kept.kind = call.kind;
    kept.atMs = call.atMs;
    kept.ms = call.ms;
    kept.argumentChars = call.argumentChars;
    kept.outcome = call.outcome;
    return this.#callDetails;
  }
}

const copyOf = <One extends object>(one: One): One => ({ ...one });

function putOne<Item>(kept: [Item], list: readonly Item[]): readonly Item[] {
  const [item] = list;
  if (item === undefined || list.length > 1) return list;
  kept[0] = item;
  return kept;
}
