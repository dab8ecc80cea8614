import { readdirSync, readFileSync } from "node:fs";

/** CPU seconds that a process and its children have used so far, by the kernel's own account. */
export function cpuSeconds(pid: number): number {
  return tree(pid).reduce((sum, stat) => sum + (scheduled(stat.pid) ?? ticked(stat)), 0);
}

/** The same without its children. */
export function ownCpuSeconds(pid: number): number {
  const stat = readStat(pid);
  if (stat === undefined) throw new Error(`process ${pid} is gone`);
  return scheduled(pid) ?? ticked(stat);
}

/** Resident memory of a process and its children, in megabytes. */
export function residentMegabytes(pid: number): number {
  const kilobytes = tree(pid).map((stat) => {
    const status = readFileSync(`/proc/${stat.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
  });
  return kilobytes.reduce((sum, each) => sum + each, 0) / 1024;
}

/** What the scheduler gave to each thread, to the nanosecond; not every kernel keeps it. */
function scheduled(pid: number): number | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const nanoseconds = threads.map((thread) =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]),
    );
    return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e9;
  } catch {
    return undefined; // The coarser account below is always there.
  }
}

/** User and system time, in the hundredths of a second that Linux reports them in. */
function ticked(stat: Stat): number {
  return (Number(stat.fields[11]) + Number(stat.fields[12])) / 100;
}

type Stat = { readonly pid: number; readonly parent: number; readonly fields: readonly string[] };

function tree(root: number): Stat[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const stats = all.flatMap((name) => readStat(Number(name)) ?? []);
  const members = stats.filter((each) => each.pid === root);
  if (members.length === 0) throw new Error(`process ${root} is gone`);
  // The list grows while it is walked, by the children of each member.
  for (const member of members) members.push(...stats.filter((each) => each.parent === member.pid));
  return members;
}

function readStat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command's name is in brackets and may hold anything; the fields begin after it.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { pid, parent: Number(fields[1]), fields };
  } catch {
    return undefined; // It ended while the folder was being read.
  }
}
