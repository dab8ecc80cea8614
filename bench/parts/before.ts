import { cpuPerRequest } from "../cpu-per-request.ts";
import { cpuSeconds } from "../cpu.ts";
import { quantile } from "../figures.ts";
import type { Check, Part, Section, Stand } from "../part.ts";
import { showRatio, verdict } from "../report.ts";
import { type Scenario, scenarios } from "../scenarios.ts";
import type { Subject } from "../subjects/subject.ts";

const slices = 40;
/** How long one slice lasts at the scenario's own rate; at full load it is over sooner. */
const sliceSeconds = 0.5;
/** A server is still being compiled after thousands of requests, and the more code the longer. */
const warm = { requests: 20_000, seconds: 6 };
/** What the same build differs by from itself in most runs. */
const noise = 1.05;

type Pair = { readonly door: string; readonly before: Subject; readonly now: Subject };

type Row = {
  readonly scenario: string;
  readonly door: string;
  readonly before: number;
  readonly now: number;
  readonly ratio: number;
};

/**
 * This checkout against the one named by `--before`, in many short slices by
 * turns. A slice that another process disturbed only ever costs more, so the
 * lower quartile is compared: on a shared machine it moves by a few percent
 * where a median moves by half.
 */
export const before: Part = {
  name: "before",
  when: "before",
  async measure(stand) {
    const pairs = pairsOf(stand.subjects.filter((each) => each.costOnly !== true));
    for (const { before: old, now } of pairs)
      for (const subject of [old, now])
        for (const each of scenarios)
          await cpuPerRequest(stand, subject, { each, how: warm }, cpuSeconds);
    const rows: Row[] = [];
    for (const each of scenarios)
      for (const pair of pairs) {
        stand.say(`before: ${each.title}, ${pair.door}`);
        rows.push(await compare(stand, each, pair));
      }
    return sectionOf(rows);
  },
};

function pairsOf(subjects: readonly Subject[]): Pair[] {
  return subjects.flatMap((old) => {
    if (!old.name.startsWith("before ")) return [];
    const now = subjects.find(({ name }) => name === old.name.replace("before", "patchbay"));
    return now ? [{ door: old.door, before: old, now }] : [];
  });
}

async function compare(stand: Stand, each: Scenario, pair: Pair): Promise<Row> {
  const how = { requests: Math.ceil(each.rate * sliceSeconds) };
  const old: number[] = [];
  const now: number[] = [];
  for (let slice = 0; slice < slices; slice += 1) {
    old.push(await cpuPerRequest(stand, pair.before, { each, how }, cpuSeconds));
    now.push(await cpuPerRequest(stand, pair.now, { each, how }, cpuSeconds));
  }
  const [was, is] = [quantile(old, 0.25), quantile(now, 0.25)];
  return { scenario: each.id, door: pair.door, before: was, now: is, ratio: is / was };
}

function sectionOf(rows: readonly Row[]): Section {
  const show = (row: Row): string[] => [
    `  ${row.door}`,
    row.before.toFixed(0),
    row.now.toFixed(0),
    `${row.ratio.toFixed(2)}x`,
  ];
  const lines = scenarios.flatMap(({ id, title }) =>
    [[title]].concat(rows.filter((row) => row.scenario === id).map(show)),
  );
  return {
    title: `CPU per request at full load (lower quartile of ${slices} slices, in turns)`,
    table: { head: ["", "before", "now", "of before"], rows: lines },
    figures: { rows },
    checks: rows.map(checkOf),
  };
}

const checkOf = ({ scenario: id, door, ratio }: Row): Check => ({
  what: `${door}, ${id}: CPU of the checkout before`,
  target: `<= ${noise}x`,
  measured: showRatio(ratio),
  verdict: verdict(ratio, ratio <= noise),
});
