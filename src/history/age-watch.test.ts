import { expect, it } from "vitest";
import { AgeWatch, SWEEP_MS, type AgeState, type RowCount } from "./age-watch.ts";

const DAY_MS = 86_400_000;
const START = 1_000 * DAY_MS;

/** A database that sweeps look at, with a date that can be set, and processes that look. */
function database() {
  let uptime = 0;
  let offset = START;
  let state: AgeState | undefined;
  const now = (): number => uptime + offset;
  const look =
    (watch = new AgeWatch()) =>
    (...found: readonly Partial<RowCount>[]): boolean => {
      const kinds = found.map(({ rows = 100, expired = 0, newest = now() }): RowCount => ({
        rows,
        expired,
        newest,
      }));
      const ages = { now: now(), kinds, maxAgeMs: 30 * DAY_MS };
      const verdict = watch.judge(ages, uptime, state);
      state = verdict.state;
      return verdict.drops;
    };
  return {
    now,
    process: () => look(),
    pass: (ms: number) => void (uptime += ms),
    set: (ms: number) => void (offset += ms),
  };
}

const few = { expired: 10 };
const most = { expired: 51 };

it("drops what is too old while the date moves with the time", () => {
  const { process, pass } = database();
  const sweep = process();
  for (let times = 0; times < 10; times++) {
    expect(sweep(few)).toBe(true);
    pass(SWEEP_MS);
  }
});

it("keeps it for a day in which gateways run after the date was set forward", () => {
  const { process, pass, set } = database();
  const [one, other] = [process(), process()];
  expect([one(few), other(few)]).toEqual([true, true]);
  set(40 * DAY_MS);
  expect([one(few), other(few)]).toEqual([false, false]);
  for (let passed = SWEEP_MS; passed < DAY_MS; passed += SWEEP_MS) {
    pass(SWEEP_MS);
    expect(one(few)).toBe(false);
  }
  pass(SWEEP_MS);
  expect(one(few)).toBe(true);
});

it("begins to wait anew when the date is set again, also where another process saw the first time", () => {
  const { process, pass, set } = database();
  const [one, other] = [process(), process()];
  one(few);
  other(few);
  set(40 * DAY_MS);
  one(few);
  pass(SWEEP_MS);
  set(40 * DAY_MS);
  expect(other(few)).toBe(false);
  set(-80 * DAY_MS);
  expect(one(few)).toBe(false);
});

it("counts no time in which no gateway runs", () => {
  const { process, pass } = database();
  expect(process()(most)).toBe(false);
  pass(10 * DAY_MS);
  expect(process()(most)).toBe(false);
});

it("keeps for a day what is most of a kind, until all of it is gone", () => {
  const { process, pass } = database();
  const sweep = process();
  const kinds = [
    { rows: 1000, expired: 3 },
    { rows: 5, expired: 5 },
  ];
  expect(sweep(...kinds)).toBe(false);
  for (let passed = 0; passed < DAY_MS; passed += SWEEP_MS) {
    pass(SWEEP_MS);
    sweep(...kinds);
  }
  expect([sweep(...kinds), sweep(...kinds)]).toEqual([true, true]);
  expect(sweep()).toBe(true);
  expect(sweep(...kinds)).toBe(false);
});

it("keeps it where a process finds the newest row old, unless it was there all the time", () => {
  const { process, now } = database();
  const newest = now() - 10 * DAY_MS;
  expect(process()({ ...few, newest })).toBe(false);
  const quiet = database();
  const sweep = quiet.process();
  for (let passed = 0; passed < 40 * DAY_MS; passed += SWEEP_MS) {
    quiet.pass(SWEEP_MS);
    expect(sweep({ ...few, newest: START })).toBe(true);
  }
});

it("loses nothing to a date that is set back and forward again", () => {
  const { process, pass, set } = database();
  const sweep = process();
  sweep(few);
  set(-40 * DAY_MS);
  pass(SWEEP_MS);
  expect(sweep()).toBe(true);
  set(40 * DAY_MS);
  pass(SWEEP_MS);
  expect(sweep(few)).toBe(false);
});
