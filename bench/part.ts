import type { Job, Outcome } from "./load.ts";
import type { Subject } from "./subjects/subject.ts";
import type { Table } from "./report.ts";

/** How long and how often; a quick run takes fewer and shorter looks. */
export type Effort = {
  readonly rounds: number;
  /** Compilers settle by requests, not by time; the seconds bound the slowest subjects. */
  readonly warm: { readonly requests: number; readonly seconds: number };
  /** At full load, which also settles what the look before it has stirred up. */
  readonly fullSeconds: number;
  readonly pacedSeconds: number;
  readonly latencyRounds: number;
  readonly latencySeconds: number;
};

/** Everything a part of the bench needs: the subjects, running and verified, and the load. */
export type Stand = {
  readonly effort: Effort;
  readonly subjects: readonly Subject[];
  readonly direct: Subject;
  readonly absent: readonly { readonly name: string; readonly why: string }[];
  readonly run: (job: Job) => Promise<Outcome>;
  readonly say: (progress: string) => void;
};

/** One target of the project and whether this run met it. */
export type Check = {
  readonly what: string;
  readonly target: string;
  readonly measured: string;
  readonly verdict: "PASS" | "MISS" | "SKIP";
};

export type Section = {
  readonly title: string;
  readonly table: Table;
  /** The figures behind the table, for `--json`. */
  readonly figures: unknown;
  readonly checks: readonly Check[];
};

/** A kind of measurement. A new one is a file in `parts/` and a line in `run.ts`. */
export type Part = {
  readonly name: string;
  /** Whether it runs unasked, or only with `--soak` or `--before`. */
  readonly when: "always" | "soak" | "before";
  readonly measure: (stand: Stand) => Promise<Section>;
};
