import { closeSync, write, writeSync } from "node:fs";

/** Lines are gathered so long, or until there are so many: to write each by itself costs more than its turn. */
const GATHER_MS = 200;
const GATHER_TEXT = 65_536;
/** What a reader that does not keep up may leave unread; beyond it lines are lost, and counted. */
const MOST_TEXT = 8 * 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * Lines on their way to a file, a pipe or a terminal. Written in the background,
 * one write at a time, so that a slow reader holds up nobody.
 */
export class LineBuffer {
  readonly #descriptor: number;
  readonly #failed: (error: NodeJS.ErrnoException) => void;
  readonly #timer: NodeJS.Timeout;
  #text = "";
  #rest: Buffer = Buffer.alloc(0);
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
    if (this.#text.length > MOST_TEXT) {
      this.#lost++;
      return;
    }
    if (this.#lost > 0)
      this.#text += `{"level":"warn","msg":"log lines lost","lines":${this.#lost}}\n`;
    this.#lost = 0;
    this.#text += line;
    if (this.#text.length > GATHER_TEXT) this.#write();
  }

  /** Writes out what is still held, at once. */
  flush(): void {
    // What is being written is on its way, and how much of it is left shows afterwards.
    const rest = this.#writing ? [] : [this.#rest];
    const held = Buffer.concat([...rest, Buffer.from(this.#text)]);
    if (!this.#writing) this.#rest = Buffer.alloc(0);
    this.#text = "";
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
    if (this.#writing || (this.#text === "" && this.#rest.length === 0)) return;
    if (this.#rest.length === 0) {
      this.#rest = Buffer.from(this.#text);
      this.#text = "";
    }
    this.#writing = true;
    write(this.#descriptor, this.#rest, (error, written) => this.#wrote(error, written));
  }

  #wrote(error: NodeJS.ErrnoException | null, written: number): void {
    this.#writing = false;
    // EAGAIN: a pipe that is full just now. Anything else: nobody reads it any more.
    if (error === null) this.#wroteUpTo(written);
    else if (error.code !== "EAGAIN") {
      this.#rest = Buffer.alloc(0);
      // What comes once there is room again is no part of a line that was cut off.
      if (this.#isTorn) this.#text = `\n${this.#text}`;
      this.#isTorn = false;
      this.#failed(error);
    }
    if (this.#closing) this.#letGo();
    else if (this.#rest.length === 0 && this.#text.length > GATHER_TEXT) this.#write();
  }

  #wroteUpTo(written: number): void {
    if (written > 0) this.#isTorn = this.#rest[written - 1] !== NEWLINE;
    this.#rest = this.#rest.subarray(written);
  }
}
