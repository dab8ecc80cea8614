import { closeSync, write, writeSync } from "node:fs";

/** Lines on their way to a file, a pipe or a terminal. */
export type Gathered = {
  add(line: string): void;
  /** Writes out what is still held, at once. */
  flush(): void;
  /** The same, and lets go of the descriptor once nothing is being written. */
  close(): void;
};

/** Lines are gathered so long, or until there are so many: to write each by itself costs more than its turn. */
const GATHER_MS = 200;
const GATHER_TEXT = 65_536;
/** What a reader that does not keep up may leave unread; beyond it lines are lost, and counted. */
const MOST_TEXT = 8 * 1024 * 1024;

/** Writes in the background, one write at a time, so that a slow reader holds up nobody. */
export function gather(
  descriptor: number,
  failed: (error: NodeJS.ErrnoException) => void = () => {},
): Gathered {
  let text = "";
  let rest = Buffer.alloc(0);
  let writing = false;
  let closing = false;
  let lost = 0;

  const go = (): void => {
    if (writing || (text === "" && rest.length === 0)) return;
    if (rest.length === 0) {
      rest = Buffer.from(text);
      text = "";
    }
    writing = true;
    write(descriptor, rest, (error, written) => {
      writing = false;
      // EAGAIN: a pipe that is full just now. Anything else: nobody reads it any more.
      if (error === null) rest = rest.subarray(written);
      else if (error.code !== "EAGAIN") {
        rest = Buffer.alloc(0);
        failed(error);
      }
      if (closing) return letGo();
      if (rest.length === 0 && text.length > GATHER_TEXT) go();
    });
  };
  const timer = setInterval(go, GATHER_MS).unref();

  const flush = (): void => {
    try {
      // What is being written is on its way.
      writeSync(descriptor, Buffer.concat([...(writing ? [] : [rest]), Buffer.from(text)]));
    } catch {
      // Nothing can be said where even the log is gone.
    }
    rest = Buffer.alloc(0);
    text = "";
  };
  const letGo = (): void => {
    flush();
    closeSync(descriptor);
  };

  return {
    add(line) {
      if (text.length > MOST_TEXT) {
        lost++;
        return;
      }
      if (lost > 0) text += `{"level":"warn","msg":"log lines lost","lines":${lost}}\n`;
      lost = 0;
      text += line;
      if (text.length > GATHER_TEXT) go();
    },
    flush,
    close() {
      clearInterval(timer);
      closing = true;
      // A number that is let go of may be another file's by the time a write under way gets to it.
      if (!writing) letGo();
    },
  };
}
