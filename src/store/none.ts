import type { Store } from "./store.ts";

const done = Promise.resolve();

/** A store that keeps nothing, for `store: off`. */
export const noStore: Store = {
  start() {},
  trouble: () => undefined,
  saveTurn: () => done,
  findItems: () => Promise.resolve({ type: "found", items: new Map() }),
  findPlan: () => Promise.resolve(undefined),
  findSealOwners: () => Promise.resolve(new Map()),
  findResponse: () => Promise.resolve(undefined),
  loadChain: (_, id) => Promise.resolve({ type: "missing", id }),
  deleteResponse: () => Promise.resolve(false),
  sumUsage: () => Promise.resolve([]),
  close: () => done,
};
