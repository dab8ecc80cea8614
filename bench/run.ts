import { writeFileSync } from "node:fs";
import { once } from "node:events";
import { availableParallelism, cpus, loadavg, release } from "node:os";
import { parseArgs } from "node:util";
import type { Outcome } from "./load.ts";
import type { Effort, Part, Section, Stand } from "./part.ts";
import { before } from "./parts/before.ts";
import { codex } from "./parts/codex.ts";
import { cost } from "./parts/cost.ts";
import { disclosure } from "./parts/disclosure.ts";
import { latency } from "./parts/latency.ts";
import { linear } from "./parts/linear.ts";
import { planning } from "./parts/planning.ts";
import { soak } from "./parts/soak.ts";
import { store } from "./parts/store.ts";
import { watch } from "./parts/watch.ts";
import { endAll, startWorker } from "./processes.ts";
import { printChecks, printSection } from "./report.ts";
import { scenarios } from "./scenarios.ts";
import { openBare } from "./subjects/bare.ts";
import { openDirect } from "./subjects/direct.ts";
import { openNginx } from "./subjects/nginx.ts";
import { openBefore, openPatchbay } from "./subjects/patchbay.ts";
import { openPortkey } from "./subjects/portkey.ts";
import { Absent, type OpenSubject, type Subject } from "./subjects/subject.ts";
import { verify } from "./verify.ts";

const parts: readonly Part[] = [
  planning,
  disclosure,
  cost,
  before,
  latency,
  store,
  watch,
  codex,
  linear,
  soak,
];

const full: Effort = {
  rounds: 5,
  warm: { requests: 8000, seconds: 4 },
  fullSeconds: 0.5,
  pacedSeconds: 1,
  latencyRounds: 5,
  latencySeconds: 2,
};
const quick: Effort = {
  rounds: 3,
  warm: { requests: 4000, seconds: 1.5 },
  fullSeconds: 0.3,
  pacedSeconds: 0.6,
  latencyRounds: 1,
  latencySeconds: 2,
};

const usage = `npm run bench -- [options]

  --quick        fewer and shorter rounds: about 90 seconds
  --rounds N     rounds of the cost part
  --soak         also 50,000 requests with memory read, and calls of up to 1 MB of fragments
  --only A,B     only these parts: ${parts.map((part) => part.name).join(", ")}
  --without A,B  leave out some of: nginx, bare, portkey, before, patchbay
  --before DIR   a checkout from before a change takes part too, in turns with this one
  --check        compare with the project's targets (a miss is printed, never an exit code)
  --json FILE    write every figure to a file`;

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rounds: { type: "string" },
    soak: { type: "boolean", default: false },
    only: { type: "string" },
    without: { type: "string", default: "" },
    before: { type: "string" },
    check: { type: "boolean", default: false },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const isDue: Readonly<Record<Part["when"], boolean>> = {
  always: true,
  soak: options.soak,
  before: options.before !== undefined,
};

const contenders: Readonly<Record<string, OpenSubject>> = {
  nginx: openNginx,
  bare: openBare,
  portkey: openPortkey,
  before: openBefore(options.before),
  patchbay: openPatchbay,
};

if (options.help) console.log(usage);
else
  try {
    await bench();
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  } finally {
    await endAll();
  }

async function bench(): Promise<void> {
  const chosen = chosenParts();
  const cores = availableParallelism();
  const load = loadavg()[0] ?? 0;
  if (load > cores / 2)
    console.log(
      `The machine is busy (load ${load.toFixed(1)} on ${cores} cores): trust no latency.`,
    );
  const stand = await build();
  for (const { name, why } of stand.absent) console.log(`${name} takes no part: ${why}`);
  const sections: Section[] = [];
  for (const part of chosen) {
    const section = await part.measure(stand);
    sections.push(section);
    printSection(section);
  }
  const checks = sections.flatMap((section) => section.checks);
  if (options.check) printChecks(checks);
  const others = parts.filter((part) => !chosen.includes(part)).map((part) => part.name);
  if (options.check && others.length > 0) console.log(`\n  not measured: ${others.join(", ")}`);
  const machine = { cpu: cpus()[0]?.model, cores, load, kernel: release() };
  const { effort, absent } = stand;
  const figures = sections.map(({ title, figures }) => ({ title, figures }));
  const summary = { machine, node: process.version, effort, absent, sections: figures, checks };
  if (options.json) writeFileSync(options.json, `${JSON.stringify(summary, null, 2)}\n`);
}

function chosenParts(): Part[] {
  const names = options.only?.split(",");
  const unknown = names?.find((name) => !parts.some((part) => part.name === name));
  if (unknown !== undefined) throw new Error(`no part is called ${unknown}\n\n${usage}`);
  return parts.filter((part) => (names ? names.includes(part.name) : isDue[part.when]));
}

/** Starts upstream, load and subjects, and lets only those take part whose answers are right. */
async function build(): Promise<Stand> {
  const upstream = startWorker(new URL("./upstream.ts", import.meta.url));
  const [port] = (await once(upstream, "message")) as [number];
  const model = { port, pid: upstream.pid ?? 0 };
  const load = startWorker(new URL("./load.ts", import.meta.url));
  const [direct] = await openDirect(model);
  if (!direct) throw new Error("there is no direct way");
  const subjects: Subject[] = [];
  const absent: Stand["absent"][number][] = [];
  const left = new Set(options.without.split(","));
  for (const [name, open] of Object.entries(contenders))
    try {
      if (left.has(name)) throw new Absent("left out by --without");
      say(`starting ${name}`);
      const faces = await open(model);
      for (const face of faces) for (const each of scenarios) await verify(face, each, port);
      subjects.push(...faces);
    } catch (error) {
      // Without the subject itself there is nothing to compare.
      if (name === "patchbay" && !(error instanceof Absent)) throw error;
      absent.push({ name, why: error instanceof Error ? error.message : String(error) });
    }
  const run: Stand["run"] = async (job) => {
    load.send(job);
    const [outcome] = (await once(load, "message")) as [Outcome];
    return outcome;
  };
  const base = options.quick ? quick : full;
  const effort = { ...base, rounds: Number(options.rounds ?? base.rounds) };
  return { effort, subjects, direct, absent, run, say };
}

function say(progress: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${progress}`);
  else process.stderr.write(`${progress}\n`);
}
