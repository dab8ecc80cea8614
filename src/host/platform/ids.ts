// 32 letters: five bits of each random byte name one, without a bias.
const letters = Array.from("abcdefghijklmnopqrstuvwxyz234567", (one) => one.charCodeAt(0));
const length = 24;
// Asking the system for a few bytes at a time costs more than all the rest.
const pool = new Uint8Array(length * 256);
let used = pool.length;
// One string of 24 letters: to add them one by one makes as many strings.
const codes = Array.from({ length }, () => 0);

/** An id that no one can guess: the prefix, `_`, and 24 letters and digits. */
export function newId(prefix: string): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  for (let at = 0; at < length; at++) codes[at] = letters[(pool[used + at] ?? 0) & 31] ?? 0;
  used += length;
  return `${prefix}_${String.fromCharCode(...codes)}`;
}
