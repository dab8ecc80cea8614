import { askOf } from "./ask.ts";
import type { Stand } from "./part.ts";
import type { Scenario } from "./scenarios.ts";
import type { Subject } from "./subjects/subject.ts";

const connections = 16;

export type Slice = {
  readonly requests?: number;
  readonly seconds?: number;
  readonly rate?: number;
};

/** Loads a subject for a while: microseconds of CPU for each request, by `cpuSeconds` of its process. */
export async function cpuPerRequest(
  stand: Stand,
  subject: Subject,
  { each, how }: { readonly each: Scenario; readonly how: Slice },
  cpuSeconds: (pid: number) => number,
): Promise<number> {
  const before = cpuSeconds(subject.pid);
  const asks = [askOf(subject, each)];
  const outcome = await stand.run({ port: subject.port, asks, connections, ...how });
  if (outcome.fault) throw new Error(`${subject.name}, ${each.title}: ${outcome.fault}`);
  return ((cpuSeconds(subject.pid) - before) / outcome.answered) * 1e6;
}
