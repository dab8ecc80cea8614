const ROUNDS = 64;
const BLOCK = 64;

const primes = Array.from({ length: 312 }, (_, at) => at).filter(
  (number) =>
    number > 1 && !Array.from({ length: number }).some((_, by) => by > 1 && number % by === 0),
);
/** The first 32 bits of the fraction of a root, as the standard makes its constants. */
const fraction = (root: number): number => Math.trunc((root % 1) * 2 ** 32);
const initial = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const constants = primes.slice(0, ROUNDS).map((prime) => fraction(Math.cbrt(prime)));

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

/**
 * SHA-256 (FIPS 180-4) of a text in UTF-8, at once: the Web's own digest is a
 * promise, and keys are compared before a request is read.
 */
export function sha256(text: string): Uint8Array {
  const message = new TextEncoder().encode(text);
  const padded = new Uint8Array(Math.ceil((message.length + 9) / BLOCK) * BLOCK);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(message.length) * 8n);
  const state = Uint32Array.from(initial);
  for (let at = 0; at < padded.length; at += BLOCK) compress(state, view, at);
  const digest = new DataView(new ArrayBuffer(32));
  for (const [at, word] of state.entries()) digest.setUint32(at * 4, word);
  return new Uint8Array(digest.buffer);
}

function compress(state: Uint32Array, block: DataView, offset: number): void {
  const schedule = new Uint32Array(ROUNDS);
  const word = (at: number): number => schedule[at] ?? 0;
  for (let at = 0; at < 16; at++) schedule[at] = block.getUint32(offset + at * 4);
  for (let at = 16; at < ROUNDS; at++) {
    const [early, late] = [word(at - 15), word(at - 2)];
    const s0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const s1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    schedule[at] = word(at - 16) + s0 + word(at - 7) + s1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let at = 0; at < ROUNDS; at++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + s1 + choice + (constants[at] ?? 0) + word(at)) | 0;
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + s0 + majority) | 0];
  }
  for (const [at, add] of [a, b, c, d, e, f, g, h].entries()) state[at] = (state[at] ?? 0) + add;
}
