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
  readShared,
  slice,
  sumUsage,
  findWithin,
} from "./read.ts";
import { dropItem, extend, setHead, write } from "./write.ts";
import type { Driver } from "./sql.ts";

/** The operations of a database. Each takes one value, which can be sent to a thread, and does not retry. */
const operations = {
  askToStop,
  drop,
  dropItem,
  extend,
  findLists,
  findParts,
  isLeaseHeld,
  place,
  placeChain,
  readShared,
  releaseLease,
  renewLease,
  secret,
  setHead,
  slice,
  spend,
  sumUsage,
  sweep,
  takeLease,
  findWithin,
  write,
};

type Operations = typeof operations;
export type OperationName = keyof Operations;
export type QueryOf<Name extends OperationName> = Parameters<Operations[Name]>[1];
export type ResultOf<Name extends OperationName> = ReturnType<Operations[Name]>;

/** A database. The first call connects, and so does the next call after a lost connection. Each error is a Fault. */
export type Database = {
  ask<Name extends OperationName>(name: Name, query: QueryOf<Name>): ResultOf<Name>;
  close(): Promise<void>;
};

/** Runs an operation on a driver. */
export const runOn = (driver: Driver, name: OperationName, query: unknown): Promise<unknown> =>
  (operations[name] as (on: Driver, asked: unknown) => Promise<unknown>)(driver, query);
