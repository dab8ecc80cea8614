import type { Tenant } from "../turn/tenant.ts";

/** A bounded memory: what was put in first goes first. Ids may be the upstream's, so they are each tenant's own. */
export type Memory<Value> = {
  remember(tenant: Tenant, id: string, value: Value): void;
  recall(tenant: Tenant, id: string): Value | undefined;
};

/**
 * Keeps at least the last `most` values and at most twice as many, or what
 * weighs so much. Two generations, the older dropped whole: a map that gains and
 * loses an entry with every request would keep the dead from the young
 * generation's collector.
 */
export function memory<Value>(
  most: number,
  weigh: (value: Value) => number = () => 1,
): Memory<Value> {
  let young = new Map<string, Value>();
  let old = young;
  let weight = 0;
  return {
    remember(tenant, id, value) {
      if (weight >= most) {
        old = young;
        young = new Map();
        weight = 0;
      }
      weight += weigh(value);
      young.set(keyOf(tenant, id), value);
    },
    recall(tenant, id) {
      const key = keyOf(tenant, id);
      return young.get(key) ?? old.get(key);
    },
  };
}

/** The name of a tenant has no blank in it. */
const keyOf = (tenant: Tenant, id: string): string => `${tenant} ${id}`;
