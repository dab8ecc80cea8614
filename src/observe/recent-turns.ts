import type { Tenant } from "../turn/tenant.ts";
import type { Refusal, TurnDone } from "./happening.ts";

/** A turn that is over, or a request that never became one. */
export type RecentTurn = TurnDone | Refusal;

/** The plan of a turn that left no answer to find it by; written out when it is asked for. */
export type KeptPlan = {
  json(): string;
  /** About how much memory it holds on to. */
  readonly bytes: number;
};

/** The turns behind a number, in their order, and how many there were that are gone. */
export type TurnsSince = {
  readonly turns: readonly RecentTurn[];
  /** The number of the last of them. */
  readonly last: number;
  readonly lost: number;
};

/** What a turn takes beside its texts and lists. */
const TURN_BYTES = 1_200;
const CALL_BYTES = 400;
const ATTEMPT_BYTES = 150;

type Entry = {
  readonly turn: RecentTurn;
  readonly plan: KeptPlan | undefined;
  /** About how much memory it holds on to. */
  readonly bytes: number;
};

/** The latest turns, numbered from 1: bounded in number and in bytes, whatever clients put into names. */
export class RecentTurns {
  readonly #maxBytes: number;
  #most: number;
  /** A ring: the entry of number `n` stands at `(n - 1) % most`. */
  #entries: (Entry | undefined)[] = [];
  /** The number of the latest. */
  last = 0;
  /** How many are kept. */
  count = 0;
  bytes = 0;
  /** How many turns of each tenant there were. */
  readonly #counts = new Map<Tenant, number>();
  /** A plan that came before its turn. */
  #plan: { readonly requestId: string; readonly plan: KeptPlan } | undefined;

  constructor(most = 2_000, maxBytes = 16 * 1024 * 1024) {
    this.#most = most;
    this.#maxBytes = maxBytes;
  }

  /** Keeps the plan of the turn that is added next. */
  keepPlan(requestId: string, plan: KeptPlan): void {
    this.#plan = { requestId, plan };
  }

  add(turn: RecentTurn): void {
    const plan = this.#plan?.requestId === turn.requestId ? this.#plan.plan : undefined;
    this.#plan = undefined;
    const most = this.#most;
    if (most === 0) return;
    if (this.count === most) this.#dropFirst();
    const bytes = weightOf(turn, plan);
    this.#entries[this.last++ % most] = { turn, plan, bytes };
    this.count++;
    this.bytes += bytes;
    if (turn.type === "turn")
      this.#counts.set(turn.tenant, (this.#counts.get(turn.tenant) ?? 0) + 1);
    while (this.bytes > this.#maxBytes && this.count > 1) this.#dropFirst();
  }

  /** Keeps so many from now on. */
  resize(most: number): void {
    if (most === this.#most) return;
    while (this.count > most) this.#dropFirst();
    const entries: (Entry | undefined)[] = [];
    for (let at = this.last - this.count; at < this.last; at++)
      entries[at % most] = this.#entries[at % this.#most];
    this.#entries = entries;
    this.#most = most;
  }

  /** The turns behind the one of this number. */
  since(number: number): TurnsSince {
    const first = this.last - this.count + 1;
    // A number that was never given out is another gateway's.
    const seen = number > this.last ? 0 : number;
    const turns = this.#kept().slice(Math.max(0, seen + 1 - first));
    return {
      turns: turns.map(({ turn }) => turn),
      last: this.last,
      lost: Math.max(0, first - seen - 1),
    };
  }

  /**
   * The turns of one tenant behind the one of this number, or the `latest` of them. They are
   * numbered without those of others, whose number no tenant is told.
   */
  of(
    tenant: Tenant,
    wanted: { readonly since: number } | { readonly latest: number },
  ): Pick<TurnsSince, "turns" | "last"> {
    const last = this.#counts.get(tenant) ?? 0;
    const own = this.#kept().flatMap(({ turn }) =>
      turn.type === "turn" && turn.tenant === tenant ? [turn] : [],
    );
    const missed = "latest" in wanted ? wanted.latest : last - wanted.since;
    // A number that was never given out is another gateway's.
    const count = missed < 0 ? own.length : Math.min(missed, own.length);
    return { turns: own.slice(own.length - count), last };
  }

  /** The latest of this id, which clients may give to several; of one tenant, where that is said. */
  find(requestId: string, tenant?: Tenant): Pick<Entry, "turn" | "plan"> | undefined {
    return this.#kept().findLast(
      ({ turn }) =>
        turn.requestId === requestId &&
        (tenant === undefined || (turn.type === "turn" && turn.tenant === tenant)),
    );
  }

  /** The entries in their order. */
  #kept(): readonly Entry[] {
    const kept: Entry[] = [];
    for (let at = this.last - this.count; at < this.last; at++) {
      const entry = this.#entries[at % this.#most];
      if (entry !== undefined) kept.push(entry);
    }
    return kept;
  }

  #dropFirst(): void {
    const at = (this.last - this.count) % this.#most;
    this.bytes -= this.#entries[at]?.bytes ?? 0;
    this.#entries[at] = undefined;
    this.count--;
  }
}

/** About how much memory a turn takes. */
function weightOf(turn: RecentTurn, plan: KeptPlan | undefined): number {
  if (turn.type === "refusal") return TURN_BYTES / 4 + 2 * turn.route.length;
  let chars = turn.model.length + turn.upstream.length + (turn.answerModel?.length ?? 0);
  for (const { reason } of turn.attempts) chars += reason?.message?.length ?? 0;
  if (turn.usage?.extra !== undefined) chars += JSON.stringify(turn.usage.extra).length;
  return (
    TURN_BYTES +
    2 * chars +
    turn.callDetails.length * CALL_BYTES +
    turn.attempts.length * ATTEMPT_BYTES +
    (plan?.bytes ?? 0)
  );
}
