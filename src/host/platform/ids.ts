const letters = Array.from("abcdefghijklmnopqrstuvwxyz234567");
// Two at a time: each addition to an id makes a string.
const pairs = letters.flatMap((one) => letters.map((other) => one + other));
// Ten bits of each random number name a pair, without a bias.
const BITS = 0x3ff;
const length = 12;
// Asking the system for a few bytes at a time costs more than all the rest.
const pool = new Uint16Array(length * 256);
let used = pool.length;

/** An id that no one can guess: the prefix, `_`, and 24 letters and digits. */
export function newId(prefix: string): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  let id = `${prefix}_`;
  for (const end = used + length; used < end; used++) id += pairs[(pool[used] ?? 0) & BITS];
  return id;
}
