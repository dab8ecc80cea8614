// 32 letters: five bits of each random byte name one, without a bias.
const letters = "abcdefghijklmnopqrstuvwxyz234567";
const length = 24;
// Asking the system for a few bytes at a time costs more than all the rest.
const pool = new Uint8Array(length * 256);
let used = pool.length;

/** An id that no one can guess: the prefix, `_`, and 24 letters and digits. */
export function newId(prefix: string): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  let id = `${prefix}_`;
  for (const end = used + length; used < end; used++) id += letters[(pool[used] ?? 0) & 31];
  return id;
}
