import type { Door } from "../scenarios.ts";

/** Something between client and model whose cost is measured. */
export type Subject = {
  readonly name: string;
  readonly door: Door;
  /** What its models' names begin with, where it is not asked for a chat upstream. */
  readonly prefix?: string;
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether only the cost part measures it. */
  readonly costOnly?: boolean;
  /** Its process, whose children count too. */
  readonly pid: number;
  /** Its home, where it has one of its own. */
  readonly folder?: string | undefined;
};

/** Starts a subject in front of the upstream on that port; several if it has several faces. */
export type OpenSubject = (upstream: {
  readonly port: number;
  readonly pid: number;
  /** Its home, where it has one of its own. */
  readonly folder?: string | undefined;
}) => Promise<readonly Subject[]>;

/** Why a subject cannot take part on this machine: its rows say so and the run goes on. */
export class Absent extends Error {}
