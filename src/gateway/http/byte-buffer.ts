/** As much as is added to a body at first; from there on its room doubles. */
const FIRST = 64 * 1024;

type Bytes = Uint8Array<ArrayBuffer>;

const none: Bytes = new Uint8Array(0);

/**
 * Joins chunks as they come. A chunk of one byte would otherwise cost an object
 * of a hundred, and keep the whole network read in memory that it was a part of.
 * The first chunk is kept as it is: most bodies are no more than that.
 */
export class ByteBuffer {
  readonly #grow: (bytes: number) => void;
  #bytes: Bytes = none;
  #length = 0;

  /** `grow` is told how many bytes more are held, before they are, and may throw. */
  constructor(grow: (bytes: number) => void) {
    this.#grow = grow;
  }

  get length(): number {
    return this.#length;
  }

  add(chunk: Bytes): void {
    const length = this.#length + chunk.length;
    if (this.#length === 0) {
      this.#grow(chunk.length);
      this.#bytes = chunk;
    } else {
      if (length > this.#bytes.length) this.#enlarge(length);
      this.#bytes.set(chunk, this.#length);
    }
    this.#length = length;
  }

  /** All of it; the buffer is empty afterwards. */
  takeAll(): Bytes {
    const bytes = this.#bytes;
    const all = bytes.length === this.#length ? bytes : bytes.subarray(0, this.#length);
    this.#bytes = none;
    this.#length = 0;
    return all;
  }

  #enlarge(least: number): void {
    const size = Math.max(least, FIRST, 2 * this.#bytes.length);
    this.#grow(size - this.#bytes.length);
    const larger = new Uint8Array(size);
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
