import { memory } from "../store/memory.ts";
import type { Tenant } from "../turn/tenant.ts";

/** Whose the seals are that providers put on reasoning, for those that went to a client as they were. */
export type Seals = {
  remember(tenant: Tenant, seal: string, upstream: string): void;
  /** The upstream's name; none: nobody here has seen it made. */
  ownerOf(tenant: Tenant, seal: string): string | undefined;
};

const SEALS_KEPT = 20_000;

export function sealMemory(): Seals {
  const owners = memory<string>(SEALS_KEPT);
  return {
    // Through bytes: a piece of a text would keep the whole of it in memory.
    remember: (tenant, seal, upstream) =>
      owners.remember(tenant, Buffer.from(keyOf(seal)).toString(), upstream),
    ownerOf: (tenant, seal) => owners.recall(tenant, keyOf(seal)),
  };
}

/** Seals end in what proves them, so that no two end alike. */
const keyOf = (seal: string): string => `${seal.length}:${seal.slice(-48)}`;
