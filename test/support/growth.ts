import { cpuTime } from "./cpu-time.ts";

/** The least CPU time of a few tries, in milliseconds: what else runs in the process only adds to it. */
async function leastTime(work: () => unknown): Promise<number> {
  let least = Infinity;
  for (let tried = 0; tried < 3; tried++) {
    const started = cpuTime();
    await work();
    least = Math.min(least, cpuTime() - started);
  }
  return least;
}

/** Less than this cannot be told from what the engine does besides: collecting garbage, compiling. */
const NOISE_MS = 25;

/**
 * How many times as long work takes at twice the size: about 2 where it grows
 * with its input, 4 where it is quadratic.
 */
export async function growth(work: (size: number) => unknown, size: number): Promise<number> {
  await work(Math.ceil(size / 8));
  const once = await leastTime(() => work(size));
  const twice = await leastTime(() => work(2 * size));
  return Math.max(0, twice - NOISE_MS) / Math.max(once, NOISE_MS / 5);
}

/** As much as linear work may seem to grow at twice the size on a busy machine. */
export const LINEAR = 2.8;
