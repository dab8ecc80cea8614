import { setTimeout as sleep } from "node:timers/promises";
import { cpuPerRequest, type Slice } from "../cpu-per-request.ts";
import { ownCpuSeconds } from "../cpu.ts";
import { quantile, shuffled } from "../figures.ts";
import type { Check, Part, Section, Stand } from "../part.ts";
import { verdict } from "../report.ts";
import { type Scenario, scenario } from "../scenarios.ts";
import { openKeeping, startTop } from "../subjects/patchbay.ts";
import type { Subject } from "../subjects/subject.ts";

const measured = [scenario("one-tool"), scenario("text-stream")];
const SLICES = 8;
const SLICE_SECONDS = 0.5;
/** Longer than `top` takes to start on a busy machine. */
const TOP_STARTS_MS = 3000;

/** CPU per request as a multiple of the same where no turn is kept. */
const mostTimesOff: Readonly<Record<string, number>> = { nobody: 1.005, top: 1.02 };

type Seen = { readonly by: string; readonly subject: Subject };

type Row = {
  readonly scenario: string;
  readonly door: string;
  readonly by: string;
  readonly micros: number;
  readonly timesOff: number;
};

/**
 * What it costs the gateway that its turns can be looked at: no turn is kept
 * (`off`), turns are kept and nobody looks, `patchbay top` follows them, and every
 * turn is recorded, masked (those beyond what the disk takes are left out). In
 * short slices by turns, the lower quartile of each; `off` is there twice, so
 * that the run shows how far the same build differs from itself.
 */
export const watch: Part = {
  name: "watch",
  when: "always",
  async measure(stand) {
    const subjects = await openAll(stand);
    const samples = new Map<string, number[]>();
    for (const { subject } of subjects)
      for (const each of measured) await load(stand, subject, each, stand.effort.warm);
    const slices = stand.effort.rounds * SLICES;
    for (let slice = 1; slice <= slices; slice += 1) {
      stand.say(`watch: slice ${slice} of ${slices}`);
      for (const each of measured)
        for (const { by, subject } of shuffled(subjects)) {
          const key = `${each.id} ${subject.door} ${by}`;
          const micros = await load(stand, subject, each, {
            seconds: SLICE_SECONDS,
            rate: each.rate,
          });
          samples.set(key, [...(samples.get(key) ?? []), micros]);
        }
    }
    return sectionOf(slices, rowsOf(subjects, samples));
  },
};

async function openAll({ direct }: Stand): Promise<Seen[]> {
  const kept: Readonly<Record<string, number>> = {
    off: 0,
    again: 0,
    nobody: 2000,
    top: 2000,
    recorded: 0,
  };
  const opened: Seen[] = [];
  for (const [by, keep] of Object.entries(kept)) {
    const recording = by === "recorded" ? "all" : undefined;
    const faces = await openKeeping(direct, by, keep, recording);
    for (const subject of faces) opened.push({ by, subject });
    const [face] = faces;
    if (by === "top" && face?.folder !== undefined) startTop(face.folder, face);
  }
  await sleep(TOP_STARTS_MS);
  return opened;
}

const load = (stand: Stand, subject: Subject, each: Scenario, how: Slice): Promise<number> =>
  cpuPerRequest(stand, subject, { each, how }, ownCpuSeconds);

const rowsOf = (
  subjects: readonly Seen[],
  samples: ReadonlyMap<string, readonly number[]>,
): Row[] =>
  measured.flatMap(({ id }) =>
    subjects.map(({ by, subject: { door } }) => {
      const micros = quantile(samples.get(`${id} ${door} ${by}`) ?? [], 0.25);
      const off = quantile(samples.get(`${id} ${door} off`) ?? [], 0.25);
      return { scenario: id, door, by, micros, timesOff: micros / off };
    }),
  );

function sectionOf(slices: number, rows: readonly Row[]): Section {
  const show = ({ door, by, micros, timesOff }: Row): string[] => [
    `  ${door}, ${by}`,
    micros.toFixed(0),
    `${timesOff.toFixed(3)}x`,
  ];
  const lines = measured.flatMap(({ id, title, rate }) =>
    [[`${title}, ${rate} a second`]].concat(rows.filter((row) => row.scenario === id).map(show)),
  );
  return {
    title: `CPU per request by who looks (lower quartile of ${slices} slices, in turns)`,
    table: { head: ["", "us of CPU", "of off"], rows: lines },
    figures: { rows },
    checks: rows.flatMap(checksOf),
  };
}

function checksOf({ scenario: id, door, by, timesOff }: Row): Check[] {
  const most = mostTimesOff[by];
  if (most === undefined) return [];
  return [
    {
      what: `${by} watches, ${door}, ${id}: CPU of the same with no turn kept`,
      target: `<= ${most}x`,
      measured: `${timesOff.toFixed(3)}x`,
      verdict: verdict(timesOff, timesOff <= most),
    },
  ];
}
