const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Interval between sweeps by age. */
export const SWEEP_MS = 10 * MINUTE_MS;
/** Expired rows are kept for this long after a suspected change of the clock. Only time with a running gateway counts. */
const WAIT_MS = 24 * HOUR_MS;
/** The clock was set if the date advanced by this much more than the uptime of the machine. */
const STEP_MS = HOUR_MS;
/** At the first sweep of a process, the newest row may be as old as this share of the maximum age. */
const IDLE_SHARE = 1 / 4;

/** The rows before a sweep. Times are milliseconds since the epoch by the database's clock. */
export type Ages = {
  readonly now: number;
  readonly kinds: readonly RowCount[];
  /** Rows expire at this age. */
  readonly maxAgeMs: number;
};

/** Rows of one kind. */
export type RowCount = {
  readonly rows: number;
  readonly expired: number;
  /** Time of the newest; 0 if that is unknown. */
  readonly newest: number;
};

/** State of the sweeps of all processes, stored in the database. */
export type AgeState = {
  /** Time of the last sweep. */
  readonly seen: number;
  /** Milliseconds for which expired rows have been kept; null while the clock is trusted. */
  readonly waited: number | null;
};

type SweepPermission = {
  /** True if the sweep may drop expired rows. */
  readonly drops: boolean;
  /** True if there are expired rows and the sweep must keep them. */
  readonly waits: boolean;
  readonly state: AgeState;
};

/**
 * Decides whether a sweep may drop expired rows. A clock that was set forward makes rows expire
 * early. A sweep therefore keeps them for a day if the date advanced further than the uptime, if
 * a new process finds only old rows, or if most rows of a kind have expired.
 */
export class AgeWatch {
  #last: { readonly now: number; readonly uptime: number } | undefined;

  /** `uptime`: uptime of the machine in milliseconds. */
  judge(ages: Ages, uptime: number, before: AgeState | undefined): SweepPermission {
    const { now, kinds, maxAgeMs } = ages;
    const newest = kinds.reduce((last, kind) => Math.max(last, kind.newest), 0);
    const last = this.#last;
    this.#last = { now, uptime };
    const wasSet = last !== undefined && now - last.now - (uptime - last.uptime) > STEP_MS;
    const hasExpired = kinds.some(({ expired }) => expired > 0);
    const areMostExpired = kinds.some(({ rows, expired }) => 2 * expired > rows);
    const isIdle = last === undefined && now - newest > maxAgeMs * IDLE_SHARE;
    const waited = before?.waited ?? null;
    const isDoubtful = hasExpired && (areMostExpired || isIdle);
    if (!wasSet && waited === null && !isDoubtful)
      return { drops: true, waits: false, state: { seen: now, waited: null } };
    const passed = Math.min(Math.max(0, now - (before?.seen ?? now)), 2 * SWEEP_MS);
    const sum = wasSet ? 0 : (waited ?? 0) + passed;
    const drops = sum >= WAIT_MS;
    const state = { seen: now, waited: drops && !hasExpired ? null : sum };
    return { drops, waits: hasExpired && !drops, state };
  }
}
