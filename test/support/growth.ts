import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Work of a given size, by what it does. */
export type Works = Readonly<Record<string, (size: number) => Promise<void>>>;

/**
 * The growth of each of the `works` that a module exports: how much more the step from 2n to 4n
 * costs than the step from n to 2n, in blocks of `src` that V8 executes. It is 2 if work is linear
 * and 4 if it is quadratic. What work costs at any size cancels out.
 */
export function growths(module: URL): Readonly<Record<string, number>> {
  const script = fileURLToPath(new URL("./count-work.ts", import.meta.url));
  const told = execFileSync(process.execPath, [script, module.href], { encoding: "utf8" });
  return JSON.parse(told) as Readonly<Record<string, number>>;
}

type Work = () => unknown;

/** CPU time of all threads of this process: other processes do not add to it. */
function processTime(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** So many tries are enough for the least time of either to be that of its work alone. */
const MOST_ROUNDS = 40;

/**
 * How many times as long one work takes as another, by the least time of each. `now`: the clock.
 * They are tried in turns until that lies below `enough`: what else the machine does
 * only adds to a time, so on a busy one it takes more tries, and no number of tries
 * brings down what really grows.
 */
export async function timesAsLong(
  long: Work,
  short: Work,
  enough: number,
  now: () => number = processTime,
): Promise<number> {
  const timeOf = async (work: Work): Promise<number> => {
    const started = now();
    await work();
    return now() - started;
  };
  let leastLong = Infinity;
  let leastShort = Infinity;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    leastLong = Math.min(leastLong, await timeOf(long));
    leastShort = Math.min(leastShort, await timeOf(short));
    if (leastLong < enough * leastShort) break;
  }
  return leastLong / leastShort;
}

/** Between the 8 times of linear work at eight times its size and the 64 of quadratic work. */
export const LINEAR = 24;

/** How many times as long work takes at eight times the size. */
export const growth = (work: (size: number) => unknown, size: number): Promise<number> =>
  timesAsLong(
    () => work(8 * size),
    () => work(size),
    LINEAR,
  );
