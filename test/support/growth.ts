type Work = () => unknown;

async function timeOf(work: Work): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** So many tries are enough for the least time of either to be that of its work alone. */
const MOST_ROUNDS = 40;
const LEAST_ROUNDS = 3;

/**
 * How many times as long one work takes as another, by the least time of each.
 * They are tried in turns until that lies below `enough`: what else the machine does
 * only adds to a time, so on a busy one it takes more tries, and no number of tries
 * brings down what really grows.
 */
export async function timesAsLong(long: Work, short: Work, enough: number): Promise<number> {
  let leastLong = Infinity;
  let leastShort = Infinity;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    leastLong = Math.min(leastLong, await timeOf(long));
    leastShort = Math.min(leastShort, await timeOf(short));
    if (round >= LEAST_ROUNDS && leastLong < enough * leastShort) break;
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
