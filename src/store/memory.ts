/** A bounded memory: what was put in first goes first. */
export type Memory<Value> = {
  remember(key: string, value: Value): void;
  recall(key: string): Value | undefined;
};

/**
 * Keeps at least the last `most` values and at most twice as many. Two
 * generations, the older dropped whole: a map that gains and loses an entry with
 * every request would keep the dead from the young generation's collector.
 */
export function memory<Value>(most: number): Memory<Value> {
  let young = new Map<string, Value>();
  let old = young;
  return {
    remember(key, value) {
      if (young.size >= most) {
        old = young;
        young = new Map();
      }
      young.set(key, value);
    },
    recall: (key) => young.get(key) ?? old.get(key),
  };
}
