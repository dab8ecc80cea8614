/** Texts outside of the heap: the collector of garbage neither copies nor marks them. */

/** Where a text begins and how many bytes it has. */
export type Place = { readonly start: number; readonly bytes: number };

/** A block that is full moves to memory of twice the size, so many times. */
const GROWTH = 2;
const STEPS = 8;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** A longer text is encoded into memory of its own, which nobody holds on to. */
const SCRATCH_BYTES = 262_144;

/** Makes blocks, and new ones out of what was let go of. */
export class TextBlocks {
  readonly #sizes: readonly number[];
  /** One of each size: who drops a block soon begins another. */
  readonly #spare = new Map<number, Uint8Array>();
  readonly #scratch = new Uint8Array(SCRATCH_BYTES);

  /** `blockBytes`: what a block mostly holds when nothing more is added to it. */
  constructor(blockBytes: number) {
    this.#sizes = Array.from({ length: STEPS }, (_, step) =>
      Math.ceil(blockBytes / GROWTH ** (STEPS - 1 - step)),
    );
  }

  /** Texts in UTF-8, and one behind them that says how many bytes each has; to be used before the next are encoded. */
  encode(
    texts: readonly string[],
    headOf: (sizes: readonly number[]) => string,
  ): { readonly bytes: Uint8Array; readonly items: number; readonly head: number } {
    const sizes: number[] = [];
    const pieces: Uint8Array[] = [];
    let room = this.#scratch;
    const add = (text: string): void => {
      // A character takes up to three bytes.
      const fits = text.length * 3 <= room.length;
      const piece = fits
        ? room.subarray(0, encoder.encodeInto(text, room).written)
        : encoder.encode(text);
      if (fits) room = room.subarray(piece.length);
      sizes.push(piece.length);
      pieces.push(piece);
    };
    for (const text of texts) add(text);
    const head = sum(sizes);
    add(headOf(sizes));
    const length = sum(sizes);
    const isInScratch = this.#scratch.length - room.length === length;
    const bytes = isInScratch ? this.#scratch.subarray(0, length) : joined(pieces, length);
    return { bytes, items: sizes[0] ?? 0, head };
  }

  open(): TextBlock {
    return new TextBlock(this);
  }

  /** Memory for so many bytes. */
  take(bytes: number): Uint8Array {
    const size = this.#sizes.find((one) => one >= bytes) ?? bytes;
    const spare = this.#spare.get(size);
    this.#spare.delete(size);
    return spare ?? new Uint8Array(size);
  }

  giveBack(memory: Uint8Array): void {
    if (this.#sizes.includes(memory.length)) this.#spare.set(memory.length, memory);
  }
}

/** Texts one behind the other. */
export class TextBlock {
  readonly #blocks: TextBlocks;
  #memory: Uint8Array = empty;
  #end = 0;

  constructor(blocks: TextBlocks) {
    this.#blocks = blocks;
  }

  /** Where the text starts. */
  add(text: Uint8Array): number {
    const start = this.#end;
    const end = start + text.length;
    if (end > this.#memory.length) this.#grow(end);
    this.#memory.set(text, start);
    this.#end = end;
    return start;
  }

  read({ start, bytes }: Place): string {
    return decoder.decode(this.#memory.subarray(start, start + bytes));
  }

  erase({ start, bytes }: Place): void {
    this.#memory.fill(0, start, start + bytes);
  }

  /** Nothing is read of it any more. */
  drop(): void {
    this.#blocks.giveBack(this.#memory);
    this.#memory = empty;
  }

  #grow(bytes: number): void {
    const memory = this.#blocks.take(bytes);
    memory.set(this.#memory.subarray(0, this.#end));
    this.#blocks.giveBack(this.#memory);
    this.#memory = memory;
  }
}

const empty = new Uint8Array(0);

const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0);

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
