/**
 * CPU time of this thread in milliseconds, for tests that bound the work of
 * something: unlike the time on a clock, it does not grow on a busy machine.
 */
export function cpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
