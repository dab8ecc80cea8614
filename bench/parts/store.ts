import {
  missing,
  postgresServer,
  type PostgresServer,
} from "../../test/support/postgres-server.ts";
import { cpuPerRequest, type Slice } from "../cpu-per-request.ts";
import { cpuSeconds } from "../cpu.ts";
import { quantile, shuffled } from "../figures.ts";
import type { Check, Part, Section, Stand } from "../part.ts";
import { verdict } from "../report.ts";
import { type Scenario, scenario } from "../scenarios.ts";
import { openStored } from "../subjects/patchbay.ts";
import type { Subject } from "../subjects/subject.ts";

const measured = [scenario("one-tool"), scenario("text-stream"), scenario("large-request")];
/** How many slices are measured for every round of the bench, and how long each lasts. */
const SLICES = 4;
const SLICE_SECONDS = 0.5;
/** CPU per request as a multiple of the same with the store off. */
const mostTimesOff: Readonly<Record<string, number>> = { sqlite: 1.25, postgres: 1.4 };

type Row = {
  readonly scenario: string;
  readonly door: string;
  readonly store: string;
  readonly micros: number;
  readonly timesOff: number;
};

type Stored = { readonly store: string; readonly subject: Subject };

/**
 * What keeping turns costs the gateway: the same requests with each kind of
 * store, and with none. In many short slices by turns, of which the lower
 * quartile is compared: what another process disturbed only ever costs more.
 * Requests come at the scenario's own rate, since what a write costs depends on
 * how many turns share it. The server of PostgreSQL is not counted.
 */
export const store: Part = {
  name: "store",
  when: "always",
  async measure(stand) {
    const server = missing === undefined ? await postgresServer() : undefined;
    try {
      const subjects = await openAll(stand, server);
      const samples = await sample(stand, subjects);
      return sectionOf(stand, rowsOf(subjects, samples));
    } finally {
      await server?.[Symbol.asyncDispose]();
    }
  },
};

async function openAll(stand: Stand, server: PostgresServer | undefined): Promise<Stored[]> {
  const kinds: Record<string, string> = { off: "off", memory: "memory", sqlite: "sqlite" };
  if (server !== undefined)
    kinds["postgres"] = `{ kind: postgres, url: "${await server.createDatabase()}" }`;
  const opened: Stored[] = [];
  for (const [kind, setting] of Object.entries(kinds))
    for (const subject of await openStored(stand.direct, kind, setting))
      opened.push({ store: kind, subject });
  return opened;
}

async function sample(
  stand: Stand,
  subjects: readonly Stored[],
): Promise<ReadonlyMap<string, readonly number[]>> {
  const { effort } = stand;
  const slices = effort.rounds * SLICES;
  const samples = new Map<string, number[]>();
  for (const { subject } of subjects)
    for (const each of measured) await load(stand, subject, each, effort.warm);
  for (let slice = 1; slice <= slices; slice += 1) {
    stand.say(`store: slice ${slice} of ${slices}`);
    for (const each of measured)
      for (const { store: kind, subject } of shuffled(subjects)) {
        const how = { seconds: SLICE_SECONDS, rate: each.rate };
        const key = `${each.id} ${subject.door} ${kind}`;
        const micros = await load(stand, subject, each, how);
        samples.set(key, [...(samples.get(key) ?? []), micros]);
      }
  }
  return samples;
}

const load = (stand: Stand, subject: Subject, each: Scenario, how: Slice): Promise<number> =>
  cpuPerRequest(stand, subject, { each, how }, cpuSeconds);

function rowsOf(
  subjects: readonly Stored[],
  samples: ReadonlyMap<string, readonly number[]>,
): Row[] {
  return measured.flatMap(({ id }) =>
    subjects.map(({ store: kind, subject: { door } }) => {
      const micros = quantile(samples.get(`${id} ${door} ${kind}`) ?? [], 0.25);
      const off = quantile(samples.get(`${id} ${door} off`) ?? [], 0.25);
      return { scenario: id, door, store: kind, micros, timesOff: micros / off };
    }),
  );
}

function sectionOf(stand: Stand, rows: readonly Row[]): Section {
  const show = (row: Row): string[] => [
    `  ${row.door}, ${row.store}`,
    row.micros.toFixed(0),
    `${row.timesOff.toFixed(2)}x`,
  ];
  const lines = measured.flatMap(({ id, title, rate }) =>
    [[`${title}, ${rate} a second`]].concat(rows.filter((row) => row.scenario === id).map(show)),
  );
  return {
    title: `CPU per request by store (lower quartile of ${stand.effort.rounds * SLICES} slices, in turns)`,
    table: { head: ["", "us of CPU", "of off"], rows: lines },
    figures: { rows },
    checks: rows.flatMap(checksOf),
  };
}

function checksOf({ scenario: id, door, store: kind, timesOff }: Row): Check[] {
  const most = mostTimesOff[kind];
  if (most === undefined) return [];
  return [
    {
      what: `store ${kind}, ${door}, ${id}: CPU of the same with it off`,
      target: `<= ${most}x`,
      measured: `${timesOff.toFixed(2)}x`,
      verdict: verdict(timesOff, timesOff <= most),
    },
  ];
}
