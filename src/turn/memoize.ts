/**
 * Makes something of an object once, and keeps it as long as the object is
 * there. Agents send the same tools for hours, and the same tools are the same
 * object: whatever is made of them need not be made again.
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
