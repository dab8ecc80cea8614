import { closeSync, write, writeSync } from "node:fs";

/** Lines are gathered so long, or until there are so many: to write each by itself costs more than its turn. */
const GATHER_MS = 200;
const GATHER_BYTES = 65_536;
/** What a reader that does not keep up may leave unread; beyond it lines are lost, and counted. */
const MOST_BYTES = 8 * 1024 * 1024;
/** A line that is put into it fits beside as much as is gathered. */
const MEMORY_BYTES = 2 * GATHER_BYTES;
const NEWLINE = 0x0a;
const empty = Buffer.alloc(0);
const lineBreak = Buffer.from("\n");

/**
 * Lines on their way to a file, a pipe or a terminal. Written in the background,
 * one write at a time, so that a slow reader holds up nobody. Gathered as bytes:
 * as text each would live through several collections of garbage.
 */
export class LineBuffer {
  readonly #descriptor: number;
  readonly #failed: (error: NodeJS.ErrnoException) => void;
  readonly #timer: NodeJS.Timeout;
  /** What is gathered, as far as `#length`. */
  #memory: Buffer = Buffer.allocUnsafeSlow(MEMORY_BYTES);
  #length = 0;
  /** What is being written, or still to be. */
  #rest: Buffer = empty;
  /** The memory of what was written last. */
  #spare: Buffer | undefined;
  #writing = false;
  #closing = false;
  #lost = 0;
  /** Whether what was written last ends within a line. */
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
    // A character takes up to three bytes.
    if (this.#length + line.length * 3 > this.#memory.length) this.#grow(Buffer.byteLength(line));
    this.#length += this.#memory.write(line, this.#length);
  }

  #grow(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#memory.length) return;
    const memory = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#memory.length));
    this.#memory.copy(memory, 0, 0, this.#length);
    this.#memory = memory;
  }

  /** Writes out what is still held, at once. */
  flush(): void {
    // What is being written is on its way, and how much of it is left shows afterwards.
    const rest = this.#writing ? [] : [this.#rest];
    const held = Buffer.concat([...rest, this.#memory.subarray(0, this.#length)]);
    if (!this.#writing) this.#rest = empty;
    this.#length = 0;
    try {
      writeSync(this.#descriptor, held);
    } catch {
      // Nothing can be said where even the log is gone.
    }
  }

  /** Writes out what is held and lets go of the descriptor. */
  close(): void {
    clearInterval(this.#timer);
    this.#closing = true;
    // A number that is let go of may be another file's by the time a write under way gets to it.
    if (!this.#writing) return this.#letGo();
    // The process may be over before that write is.
    this.flush();
  }

  #letGo(): void {
    this.flush();
    closeSync(this.#descriptor);
  }

  #write(): void {
    if (this.#writing || (this.#length === 0 && this.#rest.length === 0)) return;
    if (this.#rest.length === 0) this.#takeGathered();
    this.#writing = true;
    write(this.#descriptor, this.#rest, (error, written) => this.#wrote(error, written));
  }

  #takeGathered(): void {
    const memory = this.#memory;
    this.#rest = memory.subarray(0, this.#length);
    this.#memory = this.#spare ?? Buffer.allocUnsafeSlow(MEMORY_BYTES);
    this.#length = 0;
    // Nobody puts anything into it before all of it is written.
    this.#spare = memory.length === MEMORY_BYTES ? memory : undefined;
  }

  #wrote(error: NodeJS.ErrnoException | null, written: number): void {
    this.#writing = false;
    // EAGAIN: a pipe that is full just now. Anything else: nobody reads it any more.
    if (error === null) this.#wroteUpTo(written);
    else if (error.code !== "EAGAIN") {
      // What comes once there is room again is no part of a line that was cut off.
      this.#rest = this.#isTorn ? lineBreak : empty;
      this.#isTorn = false;
      this.#failed(error);
    }
    if (this.#closing) this.#letGo();
    else if (this.#rest.length === 0 && this.#length > GATHER_BYTES) this.#write();
  }

  #wroteUpTo(written: number): void {
    if (written > 0) this.#isTorn = this.#rest[written - 1] !== NEWLINE;
    this.#rest = this.#rest.subarray(written);
  }
}
