import {
  askToStop,
  isLeaseHeld,
  releaseLease,
  renewLease,
  secret,
  spend,
  takeLease,
} from "./leases.ts";
import { drop, sweep } from "./drop.ts";
import {
  findLists,
  findParts,
  place,
  placeChain,
  read,
  readShared,
  sizes,
  sumUsage,
  within,
} from "./read.ts";
import { dropItem, extend, setHead, write } from "./write.ts";
import type { Driver } from "./sql.ts";

/** All that a database is asked. Each takes one value, so that a call is a message to a thread. None retries. */
export const operations = {
  askToStop,
  drop,
  dropItem,
  extend,
  findLists,
  findParts,
  isLeaseHeld,
  place,
  placeChain,
  read,
  readShared,
  releaseLease,
  renewLease,
  secret,
  setHead,
  sizes,
  spend,
  sumUsage,
  sweep,
  takeLease,
  within,
  write,
};

export type Operations = typeof operations;
export type OperationName = keyof Operations;
export type QueryOf<Name extends OperationName> = Parameters<Operations[Name]>[1];
export type ResultOf<Name extends OperationName> = ReturnType<Operations[Name]>;

/** A database that rows are written to and read from. It connects with the first call, and again after it was lost. Each error is a Fault. */
export type Database = {
  readonly [Name in OperationName]: (query: QueryOf<Name>) => ResultOf<Name>;
} & { close(): Promise<void> };

/** A database whose operations are called one way. */
export function databaseOf(
  call: (name: OperationName, query: unknown) => Promise<unknown>,
  close: () => Promise<void>,
): Database {
  const calls = Object.keys(operations).map((name) => [
    name,
    (query: unknown) => call(name as OperationName, query),
  ]);
  return { ...(Object.fromEntries(calls) as unknown as Omit<Database, "close">), close };
}

/** Runs an operation on a driver. */
export const runOn = (driver: Driver, name: OperationName, query: unknown): Promise<unknown> =>
  (operations[name] as (on: Driver, asked: unknown) => Promise<unknown>)(driver, query);
