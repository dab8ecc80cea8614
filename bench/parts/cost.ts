import { askOf } from "../ask.ts";
import { cpuSeconds, residentMegabytes } from "../cpu.ts";
import { shuffled, type Spread, spread } from "../figures.ts";
import type { Job } from "../load.ts";
import type { Check, Part, Section, Stand } from "../part.ts";
import { showRatio, showSpread, verdict } from "../report.ts";
import { type Scenario, scenarios } from "../scenarios.ts";
import type { Subject } from "../subjects/subject.ts";

/** CPU per request as a multiple of nginx passing the same bytes. */
const mostTimesNginx: Readonly<Record<string, number>> = {
  "one-tool": 4,
  "text-stream": 5,
  "argument-stream": 8,
  "large-request": 8,
};
const leastTimesBelowPortkey = 8;
const mostMegabytes = 180;
const connections = 16;

type Sample = {
  /** CPU per request at the scenario's own rate. */
  readonly micros: number;
  /** CPU per request, and requests per second, with as much load as it takes. */
  readonly fullMicros: number;
  readonly fullRate: number;
};

type Memory = { readonly name: string; readonly mb: number };

type Row = {
  readonly scenario: string;
  readonly subject: string;
  readonly micros: Spread;
  readonly toNginx: number;
  readonly belowPortkey: number;
  readonly fullMicros: Spread;
  readonly fullToNginx: number;
  readonly fullRate: Spread;
};

/**
 * CPU per request, throughput and memory, every subject in every round, in a new
 * order each time. CPU is compared at one rate for all: at full load a fast
 * subject keeps its peers busy and never has to wake them, which a slower one
 * pays for with every write.
 */
export const cost: Part = {
  name: "cost",
  when: "always",
  async measure(stand) {
    const samples = await sample(stand);
    const rows = scenarios.flatMap((scenario) => rowsOf(stand, scenario, samples));
    return sectionOf(stand, rows, memoryOf(stand.subjects));
  },
};

async function sample(stand: Stand): Promise<Map<string, Sample[]>> {
  const { effort, subjects } = stand;
  const samples = new Map<string, Sample[]>();
  for (const subject of subjects)
    for (const scenario of scenarios) await load(stand, subject, scenario, effort.warm);
  for (let round = 1; round <= effort.rounds; round += 1) {
    stand.say(`cost: round ${round} of ${effort.rounds}`);
    for (const scenario of scenarios)
      for (const subject of shuffled(subjects)) {
        const full = await load(stand, subject, scenario, { seconds: effort.fullSeconds });
        const { rate } = scenario;
        const paced = await load(stand, subject, scenario, { seconds: effort.pacedSeconds, rate });
        const key = keyOf(scenario, subject.name);
        const taken = { micros: paced.micros, fullMicros: full.micros, fullRate: full.rate };
        samples.set(key, [...(samples.get(key) ?? []), taken]);
      }
  }
  return samples;
}

async function load(
  stand: Stand,
  subject: Subject,
  scenario: Scenario,
  how: Pick<Job, "requests" | "seconds" | "rate">,
): Promise<{ readonly micros: number; readonly rate: number }> {
  const asks = [askOf(subject, scenario)];
  const before = cpuSeconds(subject.pid);
  const outcome = await stand.run({ port: subject.port, asks, connections, ...how });
  if (outcome.fault) throw new Error(`${subject.name}, ${scenario.title}: ${outcome.fault}`);
  const used = cpuSeconds(subject.pid) - before;
  const { answered } = outcome;
  return { micros: (used / answered) * 1e6, rate: answered / outcome.seconds };
}

function keyOf(scenario: Scenario, subject: string): string {
  return `${scenario.id} ${subject}`;
}

function rowsOf(
  stand: Stand,
  scenario: Scenario,
  samples: ReadonlyMap<string, readonly Sample[]>,
): Row[] {
  const of = (name: string) => samples.get(keyOf(scenario, name)) ?? [];
  const micros = (name: string) => spread(of(name).map((each) => each.micros));
  const fullMicros = (name: string) => spread(of(name).map((each) => each.fullMicros));
  return stand.subjects.map(({ name }) => ({
    scenario: scenario.id,
    subject: name,
    micros: micros(name),
    toNginx: micros(name).median / micros("nginx").median,
    belowPortkey: micros("portkey").median / micros(name).median,
    fullMicros: fullMicros(name),
    fullToNginx: fullMicros(name).median / fullMicros("nginx").median,
    fullRate: spread(of(name).map((each) => each.fullRate)),
  }));
}

function sectionOf(stand: Stand, rows: readonly Row[], memory: readonly Memory[]): Section {
  const show = (row: Row) => [
    `  ${row.subject}`,
    showSpread(row.micros),
    showRatio(row.toNginx),
    showRatio(row.belowPortkey),
    showSpread(row.fullMicros),
    showRatio(row.fullToNginx),
    showSpread(row.fullRate),
  ];
  const lines = scenarios.flatMap(({ id, title, rate }) =>
    [[`${title}, ${rate} a second`]].concat(rows.filter((row) => row.scenario === id).map(show)),
  );
  return {
    title: `CPU per request (median, least and most of ${stand.effort.rounds} rounds)`,
    table: {
      head: [
        "",
        "us of CPU",
        "of nginx",
        "below portkey",
        "at full load",
        "of nginx",
        "requests/s",
      ],
      rows: [
        ...lines,
        ["memory after load"],
        ...memory.map(({ name, mb }) => [`  ${name}`, `${mb.toFixed(0)} MB`]),
      ],
    },
    figures: { rows, memory },
    checks: [...rows.flatMap(checksOf), ...memory.flatMap(memoryCheck)],
  };
}

function checksOf(row: Row): Check[] {
  const most = mostTimesNginx[row.scenario];
  if (!row.subject.startsWith("patchbay") || most === undefined) return [];
  const what = `${row.subject}, ${row.scenario}`;
  return [
    {
      what: `${what}: CPU of nginx's`,
      target: `<= ${most}x`,
      measured: showRatio(row.toNginx),
      verdict: verdict(row.toNginx, row.toNginx <= most),
    },
    {
      what: `${what}: below Portkey`,
      target: `>= ${leastTimesBelowPortkey}x`,
      measured: showRatio(row.belowPortkey),
      verdict: verdict(row.belowPortkey, row.belowPortkey >= leastTimesBelowPortkey),
    },
  ];
}

/** By process: two doors of one gateway share it. */
function memoryOf(subjects: readonly Subject[]): Memory[] {
  const names = new Map(subjects.map(({ pid, name }) => [pid, name.split(" ")[0] ?? name]));
  return [...names].map(([pid, name]) => ({ name, mb: residentMegabytes(pid) }));
}

function memoryCheck({ name, mb }: Memory): Check[] {
  if (name !== "patchbay") return [];
  return [
    {
      what: "patchbay: memory after load",
      target: `< ${mostMegabytes} MB`,
      measured: `${mb.toFixed(0)} MB`,
      verdict: verdict(mb, mb < mostMegabytes),
    },
  ];
}
