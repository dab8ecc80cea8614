/** A terminal that shows one screen of lines and hears keys. */

import { emitKeypressEvents, type Key } from "node:readline";
import { printable } from "../../platform/print.ts";

export type Screen = Disposable & {
  readonly columns: number;
  readonly height: number;
  show(lines: readonly string[]): void;
};

const ENTER_SCREEN = "\u001B[?1049h\u001B[?25l";
const LEAVE_SCREEN = "\u001B[?25h\u001B[?1049l";
const HOME = "\u001B[H";
const REST_OF_LINE = "\u001B[K";
const REST_OF_SCREEN = "\u001B[J";

type ScreenEvents = {
  readonly key: (key: string, text: string) => void;
  readonly resize: () => void;
};

/** Takes over the terminal until it is disposed of, which gives it back as it was. */
export function openScreen({ key: onKey, resize }: ScreenEvents): Screen {
  const { stdin: input, stdout: output } = process;
  const heard = (text: string | undefined, key: Key): void =>
    onKey(key.ctrl === true ? `ctrl-${key.name ?? ""}` : (key.name ?? text ?? ""), text ?? "");
  const restore = (): void => void output.write(LEAVE_SCREEN);
  emitKeypressEvents(input);
  input.setRawMode(true);
  input.on("keypress", heard);
  input.resume();
  output.on("resize", resize);
  output.write(ENTER_SCREEN);
  process.once("exit", restore);
  return {
    get columns() {
      return output.columns;
    },
    get height() {
      return output.rows;
    },
    show(lines) {
      const text = lines
        .slice(0, output.rows)
        .map((line) => `${printable(line).slice(0, output.columns)}${REST_OF_LINE}`)
        .join("\r\n");
      output.write(`${HOME}${text}${REST_OF_SCREEN}`);
    },
    [Symbol.dispose]() {
      process.off("exit", restore);
      restore();
      input.off("keypress", heard);
      output.off("resize", resize);
      input.setRawMode(false);
      input.pause();
    },
  };
}
