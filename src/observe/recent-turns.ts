import type { Tenant } from "../turn/tenant.ts";
import type { Happening, Refusal, TurnDone } from "./happening.ts";
import { TurnSlot } from "./turn-slot.ts";

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

type OwnTurns = Pick<TurnsSince, "turns" | "last">;

/** What a turn takes beside its texts and lists. */
const TURN_BYTES = 1_200;
const CALL_BYTES = 400;
const ATTEMPT_BYTES = 150;

/** A place of the ring, used again and again. */
class Entry {
  #slot: TurnSlot | undefined;
  #refusal: Refusal | undefined;
  plan: KeptPlan | undefined;
  /** About how much memory it holds on to. */
  bytes = 0;

  put(turn: RecentTurn, plan: KeptPlan | undefined): void {
    this.plan = plan;
    this.bytes = weightOf(turn, plan);
    this.#refusal = turn.type === "refusal" ? turn : undefined;
    if (turn.type === "refusal") return;
    if (this.#slot === undefined) this.#slot = new TurnSlot(turn);
    else this.#slot.put(turn);
  }

  get tenant(): Tenant | undefined {
    return this.#refusal === undefined ? this.#slot?.tenant : undefined;
  }

  read(): RecentTurn | undefined {
    return this.#refusal ?? this.#slot?.read();
  }

  /** Whether it is of this id; of one tenant, where that is said. */
  isOf(requestId: string, tenant: Tenant | undefined): boolean {
    if (this.#refusal !== undefined)
      return tenant === undefined && this.#refusal.requestId === requestId;
    const slot = this.#slot;
    if (slot?.requestId !== requestId) return false;
    return tenant === undefined || slot.tenant === tenant;
  }
}

/**
 * The latest turns, numbered from 1: bounded in number and in bytes, whatever
 * clients put into names. Nothing is written out before somebody asks.
 */
export class RecentTurns {
  readonly #maxBytes: number;
  #most: number;
  /** A ring once it is full: the entry of number `n` stands at `(n - 1) % most`. */
  #entries: (Entry | undefined)[] = [];
  #last = 0;
  #count = 0;
  #bytes = 0;
  /** How many turns of each tenant there were. */
  readonly #counts = new Map<Tenant, number>();
  /** Plans that came before their turns. */
  #plan: { readonly requestId: string; readonly plan: KeptPlan } | undefined;

  constructor(most = 2_000, maxBytes = 16 * 1024 * 1024) {
    this.#most = most;
    this.#maxBytes = maxBytes;
  }

  /** The number of the latest. */
  get last(): number {
    return this.#last;
  }

  /** How many are kept. */
  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  hear(happening: Happening): void {
    if (happening.type === "turn" || happening.type === "refusal") this.#add(happening);
  }

  /** Keeps the plan of the turn that is reported next. */
  keepPlan(requestId: string, plan: KeptPlan): void {
    if (this.#most > 0) this.#plan = { requestId, plan };
  }

  /** Keeps so many from now on. */
  resize(most: number): void {
    if (most === this.#most) return;
    const kept = Math.min(this.#count, most);
    const entries = Array.from({ length: kept }, (_, at) => this.#at(this.#last - kept + 1 + at));
    this.#most = most;
    this.#entries = [];
    this.#count = kept;
    this.#bytes = 0;
    for (const [at, entry] of entries.entries()) {
      this.#entries[(this.#last - kept + at) % most] = entry;
      this.#bytes += entry?.bytes ?? 0;
    }
  }

  /** The turns behind the one of this number. */
  since(number: number): TurnsSince {
    const first = this.#last - this.#count + 1;
    // Whoever knows a number that was never given out has seen another gateway's.
    const seen = number > this.#last ? 0 : number;
    const turns: RecentTurn[] = [];
    for (let at = Math.max(seen + 1, first); at <= this.#last; at++) {
      const turn = this.#at(at)?.read();
      if (turn !== undefined) turns.push(turn);
    }
    return { turns, last: this.#last, lost: Math.max(0, first - seen - 1) };
  }

  /**
   * The turns of one tenant behind the one of this number, or the `latest` of them. They are
   * numbered without those of others, whose number is nobody else's business.
   */
  of(tenant: Tenant, wanted: { readonly since: number } | { readonly latest: number }): OwnTurns {
    const last = this.#counts.get(tenant) ?? 0;
    const own: Entry[] = [];
    for (let at = this.#last - this.#count + 1; at <= this.#last; at++) {
      const entry = this.#at(at);
      if (entry?.tenant === tenant) own.push(entry);
    }
    const missed = "latest" in wanted ? wanted.latest : last - wanted.since;
    // A number that was never given out is another gateway's, as above.
    const count = missed < 0 ? own.length : Math.min(missed, own.length);
    const turns = own.slice(own.length - count).map((entry) => entry.read());
    return { turns: turns.filter((turn) => turn !== undefined), last };
  }

  /** The latest of this id, which clients may give to several; of one tenant, where that is said. */
  find(
    requestId: string,
    tenant?: Tenant,
  ): { readonly turn: RecentTurn; readonly plan: KeptPlan | undefined } | undefined {
    for (let at = this.#last; at > this.#last - this.#count; at--) {
      const entry = this.#at(at);
      if (entry?.isOf(requestId, tenant) !== true) continue;
      const turn = entry.read();
      return turn && { turn, plan: entry.plan };
    }
    return undefined;
  }

  #at(number: number): Entry | undefined {
    return this.#entries[(number - 1) % this.#most];
  }

  #add(turn: RecentTurn): void {
    if (this.#most === 0) return;
    const plan = this.#plan?.requestId === turn.requestId ? this.#plan.plan : undefined;
    this.#plan = undefined;
    const at = this.#last % this.#most;
    // In a full ring that is the place of the first.
    const entry = this.#entries[at] ?? new Entry();
    if (this.#count === this.#most) this.#dropFirst();
    entry.put(turn, plan);
    this.#entries[at] = entry;
    this.#last++;
    if (turn.type === "turn")
      this.#counts.set(turn.tenant, (this.#counts.get(turn.tenant) ?? 0) + 1);
    this.#count++;
    this.#bytes += entry.bytes;
    while (this.#bytes > this.#maxBytes && this.#count > 1) this.#dropFirst();
  }

  #dropFirst(): void {
    const at = (this.#last - this.#count) % this.#most;
    this.#bytes -= this.#entries[at]?.bytes ?? 0;
    this.#entries[at] = undefined;
    this.#count--;
  }
}

/** About how much memory a turn takes. */
function weightOf(turn: RecentTurn, plan: KeptPlan | undefined): number {
  if (turn.type === "refusal") return TURN_BYTES / 4 + 2 * turn.route.length;
  return (
    TURN_BYTES +
    2 * (turn.model.length + turn.upstream.length + (turn.answerModel?.length ?? 0)) +
    turn.callDetails.length * CALL_BYTES +
    turn.attempts.length * ATTEMPT_BYTES +
    turn.attempts.reduce((sum, { reason }) => sum + 2 * (reason?.message?.length ?? 0), 0) +
    (turn.usage?.extra === undefined ? 0 : 2 * JSON.stringify(turn.usage.extra).length) +
    (plan?.bytes ?? 0)
  );
}
