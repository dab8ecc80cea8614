import { askOf } from "../ask.ts";
import { cpuSeconds } from "../cpu.ts";
import type { Check, Part, Section, Stand } from "../part.ts";
import { showRatio, verdict } from "../report.ts";
import { longCounts, longScenario } from "../scenarios.ts";
import type { Subject } from "../subjects/subject.ts";

/** Growth of a fragment's cost from the shortest call to the longest that still counts as none. */
const mostGrowth = 1.5;

type Row = {
  readonly subject: string;
  readonly count: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly microsEach: number;
};

/** One call with up to 1 MB of arguments, a character at a time: does a fragment's cost grow? */
export const linear: Part = {
  name: "linear",
  when: "soak",
  async measure(stand) {
    const rows: Row[] = [];
    const subjects = stand.subjects.filter(
      (each) => each.name !== "portkey" && each.costOnly !== true,
    );
    for (const subject of subjects) {
      // The code must be warm before the shortest call, or it would look dear.
      await play(stand, subject, longCounts[0]);
      for (const count of longCounts) rows.push(await play(stand, subject, count));
    }
    return sectionOf(subjects, rows);
  },
};

async function play(stand: Stand, subject: Subject, count: number): Promise<Row> {
  stand.say(`linear: ${count} fragments through ${subject.name}`);
  // Every fragment must come back, as at least its own character.
  const asks = [askOf(subject, longScenario(count), count)];
  const before = cpuSeconds(subject.pid);
  const outcome = await stand.run({ port: subject.port, asks, connections: 1, requests: 1 });
  if (outcome.fault) throw new Error(`${subject.name}, ${count} fragments: ${outcome.fault}`);
  const used = cpuSeconds(subject.pid) - before;
  const { seconds } = outcome;
  const microsEach = (used / count) * 1e6;
  return { subject: subject.name, count, seconds, cpuSeconds: used, microsEach };
}

function sectionOf(subjects: readonly Subject[], rows: readonly Row[]): Section {
  return {
    title: "One call, arguments in one-character fragments",
    table: {
      head: ["", "fragments", "seconds", "CPU seconds", "us of CPU each"],
      rows: rows.map((row) => [
        row.subject,
        row.count.toLocaleString("en"),
        row.seconds.toFixed(2),
        row.cpuSeconds.toFixed(2),
        row.microsEach.toFixed(2),
      ]),
    },
    figures: rows,
    checks: subjects
      .filter(({ name }) => name.startsWith("patchbay"))
      .map(({ name }) =>
        check(
          name,
          rows.filter((row) => row.subject === name),
        ),
      ),
  };
}

function check(name: string, rows: readonly Row[]): Check {
  const growth = (rows.at(-1)?.microsEach ?? NaN) / (rows[0]?.microsEach ?? NaN);
  return {
    what: `${name}: cost of a fragment at 1 MB over that at 250 kB`,
    target: `<= ${mostGrowth}x`,
    measured: showRatio(growth),
    verdict: verdict(growth, growth <= mostGrowth),
  };
}
