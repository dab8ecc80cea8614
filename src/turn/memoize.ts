/**
 * Computes a value of an object once, and keeps it as long as the object exists. Agents send the
 * same tools for hours, and equal lists of tools are the same object.
 */
export function memoizeByIdentity<Key extends object, Value extends {}>(
  make: (key: Key) => Value,
): (key: Key) => Value {
  const known = new WeakMap<Key, Value>();
  return (key) => {
    let value = known.get(key);
    if (value === undefined) known.set(key, (value = make(key)));
    return value;
  };
}
