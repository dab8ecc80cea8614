import type { Tenant } from "../turn/tenant.ts";
import type { Refusal, TurnDone } from "./happening.ts";

/** A turn that has ended, or a request that never became one. */
export type RecentTurn = TurnDone | Refusal;

/** The plan of a turn without an answer id to find it by. */
export type KeptPlan = {
  json(): string;
  /** The memory it holds, about. */
  readonly bytes: number;
};

/** Turns in their order. `lost`: turns before them that were asked for and are no longer kept. */
export type TurnsSince = {
  readonly turns: readonly RecentTurn[];
  /** The number of the latest turn. */
  readonly last: number;
  readonly lost: number;
};

/** The size of a turn without its texts and lists. */
const TURN_BYTES = 1_200;
const CALL_BYTES = 400;
const ATTEMPT_BYTES = 150;

type Entry = {
  readonly turn: RecentTurn;
  readonly plan: KeptPlan | undefined;
  readonly bytes: number;
};

/** The latest turns, numbered from 1. Their number and their bytes are bounded, because names of clients have any length. */
export class RecentTurns {
  readonly #maxBytes: number;
  #most: number;
  readonly #entries: Entry[] = [];
  /** The number of the latest turn. */
  last = 0;
  bytes = 0;
  /** The number of turns of each tenant so far. */
  readonly #counts = new Map<Tenant, number>();
  /** A plan whose turn is added next. */
  #plan: { readonly requestId: string; readonly plan: KeptPlan } | undefined;

  constructor(most = 2_000, maxBytes = 16 * 1024 * 1024) {
    this.#most = most;
    this.#maxBytes = maxBytes;
  }

  get count(): number {
    return this.#entries.length;
  }

  /** Keeps the plan of the turn that is added next. */
  keepPlan(requestId: string, plan: KeptPlan): void {
    this.#plan = { requestId, plan };
  }

  add(turn: RecentTurn): void {
    const plan = this.#plan?.requestId === turn.requestId ? this.#plan.plan : undefined;
    this.#plan = undefined;
    const entries = this.#entries;
    if (this.#most === 0) return;
    const bytes = sizeOf(turn) + (plan?.bytes ?? 0);
    entries.push({ turn, plan, bytes });
    this.last++;
    this.bytes += bytes;
    if (turn.type === "turn")
      this.#counts.set(turn.tenant, (this.#counts.get(turn.tenant) ?? 0) + 1);
    while (entries.length > this.#most || (this.bytes > this.#maxBytes && entries.length > 1))
      this.#dropFirst();
  }

  /** Limits the number of turns that are kept. */
  resize(most: number): void {
    this.#most = most;
    while (this.count > most) this.#dropFirst();
  }

  /**
   * The turns after the one of a number, or the latest. Those of a tenant are numbered
   * separately, because no tenant may learn the number of others' turns.
   */
  since(wanted: { readonly since: number } | { readonly latest: number }, of?: Tenant): TurnsSince {
    const all = this.#entries.map(({ turn }) => turn);
    const turns =
      of === undefined ? all : all.filter((one) => one.type === "turn" && one.tenant === of);
    const last = of === undefined ? this.last : (this.#counts.get(of) ?? 0);
    const missed = Math.min("latest" in wanted ? wanted.latest : last - wanted.since, last);
    // A number above the last one comes from another gateway.
    const most = missed < 0 ? last : missed;
    const lost = Math.max(0, most - turns.length);
    return { turns: turns.slice(Math.max(0, turns.length - most)), last, lost };
  }

  /** The latest turn of this id, which clients may give to several; with a tenant, of that tenant. */
  find(requestId: string, tenant?: Tenant): Pick<Entry, "turn" | "plan"> | undefined {
    return this.#entries.findLast(
      ({ turn }) =>
        turn.requestId === requestId &&
        (tenant === undefined || (turn.type === "turn" && turn.tenant === tenant)),
    );
  }

  #dropFirst(): void {
    this.bytes -= this.#entries.shift()?.bytes ?? 0;
  }
}

function sizeOf(turn: RecentTurn): number {
  if (turn.type === "refusal") return TURN_BYTES / 4 + 2 * turn.route.length;
  const { callDetails, attempts } = turn;
  let chars = turn.model.length + turn.upstream.length + (turn.answerModel?.length ?? 0);
  for (const { reason } of attempts) chars += reason?.message?.length ?? 0;
  if (turn.usage?.extra !== undefined) chars += JSON.stringify(turn.usage.extra).length;
  const lists = callDetails.length * CALL_BYTES + attempts.length * ATTEMPT_BYTES;
  return TURN_BYTES + 2 * chars + lists;
}
