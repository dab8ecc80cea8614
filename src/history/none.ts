import type { Store } from "./store.ts";

const done = Promise.resolve();
const secrets = new Map<string, string>();

/** A store that keeps nothing, for `store: off`. What all requests share lives as long as the process. */
export const noStore: Store = {
  start() {},
  trouble: () => undefined,
  saveTurn: () => undefined,
  findItems: () => Promise.resolve({ type: "found", items: new Map() }),
  findPlan: () => Promise.resolve(undefined),
  findSealOwners: () => Promise.resolve(new Map()),
  findResponse: () => Promise.resolve(undefined),
  findHead: () => Promise.resolve(undefined),
  findInput: () => Promise.resolve([]),
  loadChain: (_, id) => Promise.resolve({ type: "missing", id }),
  listInput: () => Promise.resolve({ type: "missing" }),
  deleteResponse: () => Promise.resolve(false),
  sumUsage: () => Promise.resolve([]),
  conversations: {
    createConversation: () => done,
    findConversation: () => Promise.resolve(undefined),
    updateConversation: () => Promise.resolve(false),
    deleteConversation: () => Promise.resolve(false),
    listConversations: () => Promise.resolve({ type: "found", list: [], isWhole: true }),
    addConversationItems: () => Promise.resolve(false),
    loadConversation: () => Promise.resolve({ type: "missing" }),
    listItems: () => Promise.resolve({ type: "missing" }),
    findItem: () => Promise.resolve(undefined),
    deleteConversationItem: () => Promise.resolve(false),
  },
  leases: {
    take: () => Promise.resolve(true),
    renew: () => Promise.resolve("held"),
    isHeld: () => Promise.resolve(false),
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
