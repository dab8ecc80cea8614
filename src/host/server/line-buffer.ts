import { closeSync, write, writeSync } from "node:fs";

/** Lines are gathered for this time, or up to this size: a write for each would cost more than its turn. */
const GATHER_MS = 200;
const GATHER_BYTES = 65_536;
/** Bytes that a slow reader may leave unread; later lines are lost, and counted. */
const MOST_BYTES = 8 * 1024 * 1024;
/** A line that is added fits beside the gathered ones. */
const MEMORY_BYTES = 2 * GATHER_BYTES;
const NEWLINE = 0x0a;
const empty = Buffer.alloc(0);
const lineBreak = Buffer.from("\n");

/**
 * Lines on their way to a file, a pipe or a terminal. They are written in the background, one
 * write at a time, so that a slow reader delays no request, and gathered as bytes, because texts
 * would live through several collections of garbage.
 */
export class LineBuffer {
  readonly #descriptor: number;
  readonly #failed: (error: NodeJS.ErrnoException) => void;
  readonly #timer: NodeJS.Timeout;
  /** The gathered lines, up to `#length`. */
  #memory: Buffer = Buffer.allocUnsafeSlow(MEMORY_BYTES);
  /** The memory of the last write, which takes the lines after the next one. */
  #other: Buffer = Buffer.allocUnsafeSlow(MEMORY_BYTES);
  #length = 0;
  /** The rest of the write under way. */
  #rest: Buffer = empty;
  #writing = false;
  #closing = false;
  #lost = 0;
  /** True if the last write ended within a line. */
  #isTorn = false;

  constructor(descriptor: number, failed: (error: NodeJS.ErrnoException) => void = () => {}) {
    this.#descriptor = descriptor;
    this.#failed = failed;
    this.#timer = setInterval(() => this.#write(), GATHER_MS).unref();
  }

  add(line: string): void {
    if (this.#length > MOST_BYTES) {
      this.#lost++;
      return;
    }
    if (this.#lost > 0)
      this.#put(`{"level":"warn","msg":"log lines lost","lines":${this.#lost}}\n`);
    this.#lost = 0;
    this.#put(line);
    if (this.#length > GATHER_BYTES) this.#write();
  }

  #put(line: string): void {
    // A character needs at most three bytes in UTF-8.
    if (this.#length + line.length * 3 > this.#memory.length) {
      const memory = Buffer.allocUnsafeSlow(2 * (this.#length + Buffer.byteLength(line)));
      this.#memory.copy(memory, 0, 0, this.#length);
      this.#memory = memory;
    }
    this.#length += this.#memory.write(line, this.#length);
  }

  /** Writes out all lines at once. */
  flush(): void {
    // The rest of a write under way is known only when that has ended.
    const rest = this.#writing ? empty : this.#rest;
    const held = Buffer.concat([rest, this.#memory.subarray(0, this.#length)]);
    if (!this.#writing) this.#rest = empty;
    this.#length = 0;
    try {
      writeSync(this.#descriptor, held);
    } catch {
      // There is no log left to report this to.
    }
  }

  /** Writes out all lines and closes the descriptor. */
  close(): void {
    clearInterval(this.#timer);
    this.#closing = true;
    // The process may end before a write under way does.
    this.flush();
    // After a close, another file could take the number, and the write under way would go there.
    if (!this.#writing) closeSync(this.#descriptor);
  }

  #write(): void {
    if (this.#writing || (this.#length === 0 && this.#rest.length === 0)) return;
    if (this.#rest.length === 0) {
      this.#rest = this.#memory.subarray(0, this.#length);
      const free = this.#other;
      this.#other = this.#memory;
      this.#memory = free.length > MEMORY_BYTES ? Buffer.allocUnsafeSlow(MEMORY_BYTES) : free;
      this.#length = 0;
    }
    this.#writing = true;
    write(this.#descriptor, this.#rest, (error, written) => this.#wrote(error, written));
  }

  #wrote(error: NodeJS.ErrnoException | null, written: number): void {
    this.#writing = false;
    if (error === null) {
      if (written > 0) this.#isTorn = this.#rest[written - 1] !== NEWLINE;
      this.#rest = this.#rest.subarray(written);
    } else if (error.code !== "EAGAIN") {
      // EAGAIN: a pipe that is full at the moment. After any other error the lines are lost, and
      // the next ones must not continue one that was cut off.
      this.#rest = this.#isTorn ? lineBreak : empty;
      this.#isTorn = false;
      this.#failed(error);
    }
    if (this.#closing) {
      this.flush();
      closeSync(this.#descriptor);
    } else if (this.#rest.length === 0 && this.#length > GATHER_BYTES) this.#write();
  }
}
