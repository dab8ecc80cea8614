import type { Log } from "./log.ts";

const done = Promise.resolve();
const no = (): Promise<false> => Promise.resolve(false);
const nothing = (): Promise<undefined> => Promise.resolve(undefined);
const secrets = new Map<string, string>();

/** A log that stores nothing, for `store: off`. Secrets last until the process ends. */
export const noStore: Log = {
  start() {},
  trouble: () => undefined,
  append: () => undefined,
  create: () => done,
  head: nothing,
  entry: nothing,
  input: () => Promise.resolve([]),
  load: ({ id }) => Promise.resolve({ type: "missing", id }),
  page: () => Promise.resolve({ type: "missing" }),
  item: nothing,
  find: () => Promise.resolve({ type: "found", items: new Map() }),
  lists: () => Promise.resolve({ type: "found", list: [], isWhole: true }),
  setHead: no,
  extend: no,
  drop: no,
  dropItem: no,
  sumUsage: () => Promise.resolve([]),
  leases: {
    take: () => Promise.resolve(true),
    renew: () => Promise.resolve("held"),
    isHeld: no,
    askToStop: () => done,
    release: () => done,
  },
  async secret(name, made) {
    const known = secrets.get(name);
    if (known === undefined) secrets.set(name, made);
    return known ?? made;
  },
  close: () => done,
};
