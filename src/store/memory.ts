/** A bounded memory: what was put in first goes first. */
export type Memory<Value> = {
  remember(key: string, value: Value): void;
  recall(key: string): Value | undefined;
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
    remember(key, value) {
      if (weight >= most) {
        old = young;
        young = new Map();
        weight = 0;
      }
      weight += weigh(value);
      young.set(key, value);
    },
    recall: (key) => young.get(key) ?? old.get(key),
  };
}
