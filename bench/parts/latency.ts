import { askOf } from "../ask.ts";
import { median, shuffled, type Spread, spread } from "../figures.ts";
import type { Outcome } from "../load.ts";
import type { Check, Part, Section, Stand } from "../part.ts";
import { showSpread, verdict } from "../report.ts";
import { type Scenario, scenario } from "../scenarios.ts";
import type { Subject } from "../subjects/subject.ts";

const rate = 500;
const connections = 64;
const mostAddedMs = 2;
const measured = [scenario("one-tool"), scenario("text-stream")];

type Row = {
  readonly scenario: string;
  readonly subject: string;
  readonly p50: Spread;
  readonly p99: Spread;
  /** Over the direct way, median against median. */
  readonly addedP50: number;
  readonly addedP99: number;
  readonly fault: string | undefined;
};

/** Time to the whole answer at a fixed rate, sent on time whether or not earlier ones came back. */
export const latency: Part = {
  name: "latency",
  when: "always",
  async measure(stand) {
    const rows: Row[] = [];
    for (const each of measured) rows.push(...rowsOf(stand, each, await sample(stand, each)));
    return sectionOf(stand, rows);
  },
};

async function sample(stand: Stand, scenario: Scenario): Promise<Map<string, Outcome[]>> {
  const samples = new Map<string, Outcome[]>();
  const { latencyRounds, latencySeconds } = stand.effort;
  for (let round = 1; round <= latencyRounds; round += 1) {
    stand.say(`latency: ${scenario.title}, round ${round} of ${latencyRounds}`);
    for (const subject of shuffled([stand.direct, ...stand.subjects])) {
      await load(stand, subject, scenario, latencySeconds / 4);
      const taken = await load(stand, subject, scenario, latencySeconds);
      samples.set(subject.name, [...(samples.get(subject.name) ?? []), taken]);
    }
  }
  return samples;
}

function load(
  stand: Stand,
  subject: Subject,
  scenario: Scenario,
  seconds: number,
): Promise<Outcome> {
  const asks = [askOf(subject, scenario)];
  return stand.run({ port: subject.port, asks, connections, rate, seconds });
}

function rowsOf(
  stand: Stand,
  scenario: Scenario,
  samples: ReadonlyMap<string, readonly Outcome[]>,
): Row[] {
  const of = (name: string, key: "p50" | "p99") =>
    (samples.get(name) ?? []).map((each) => each[key]);
  const { name: direct } = stand.direct;
  return [stand.direct, ...stand.subjects].map(({ name }) => ({
    scenario: scenario.id,
    subject: name,
    p50: spread(of(name, "p50")),
    p99: spread(of(name, "p99")),
    addedP50: median(of(name, "p50")) - median(of(direct, "p50")),
    addedP99: median(of(name, "p99")) - median(of(direct, "p99")),
    fault: samples.get(name)?.find((each) => each.fault)?.fault,
  }));
}

function sectionOf(stand: Stand, rows: readonly Row[]): Section {
  const lines = measured.flatMap(({ id, title }) =>
    [[title]].concat(rows.filter((row) => row.scenario === id).map(showRow)),
  );
  return {
    title: `Latency in ms at ${rate} requests/s (median, least and most of ${stand.effort.latencyRounds} rounds)`,
    table: {
      head: ["", "p50", "p99", "added p50", "added p99"],
      rows: lines,
    },
    figures: rows,
    checks: rows.filter((row) => row.subject.startsWith("patchbay")).map(check),
  };
}

function showRow(row: Row): string[] {
  if (row.fault) return [`  ${row.subject}`, row.fault];
  const times = [showSpread(row.p50, 2), showSpread(row.p99, 2)];
  // The direct way has nothing to add to.
  if (row.subject === "direct") return [`  ${row.subject}`, ...times];
  return [`  ${row.subject}`, ...times, row.addedP50.toFixed(2), row.addedP99.toFixed(2)];
}

function check(row: Row): Check {
  return {
    what: `${row.subject}, ${row.scenario}: added p99`,
    target: `< ${mostAddedMs} ms`,
    measured: row.fault ?? `${row.addedP99.toFixed(2)} ms`,
    verdict: row.fault ? "MISS" : verdict(row.addedP99, row.addedP99 < mostAddedMs),
  };
}
