/** A bounded memory: what was put in first goes first. */
export type Memory<Value> = {
  remember(key: string, value: Value): void;
  recall(key: string): Value | undefined;
};

export function memory<Value>(most: number): Memory<Value> {
  const values = new Map<string, Value>();
  return {
    remember(key, value) {
      values.set(key, value);
      if (values.size <= most) return;
      const oldest = values.keys().next();
      if (oldest.done !== true) values.delete(oldest.value);
    },
    recall: (key) => values.get(key),
  };
}
