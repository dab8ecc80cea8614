/** A terminal that shows one screen of lines and hears keys. */

import { emitKeypressEvents, type Key } from "node:readline";
import { printable } from "../../src/host/platform/print.ts";

export type Screen = Disposable & {
  readonly columns: number;
  readonly height: number;
  show(lines: readonly ScreenLine[]): void;
};

export type Tone = keyof typeof tones;

/** A line of text; `tone` says how it differs where there are colours. */
export type ScreenLine = string | { readonly text: string; readonly tone: Tone };

/** Select Graphic Rendition: bold, red, cyan, yellow. */
const tones = { head: 1, wrong: 31, running: 36, filter: 33 } as const;

const ENTER_SCREEN = "\u001B[?1049h\u001B[?25l";
const LEAVE_SCREEN = "\u001B[?25h\u001B[?1049l";
const HOME = "\u001B[H";
const REST_OF_LINE = "\u001B[K";
const REST_OF_SCREEN = "\u001B[J";

/** For a terminal that does not know its size. */
const COLUMNS = 80;
const HEIGHT = 24;

type ScreenEvents = {
  readonly key: (key: string, text: string) => void;
  readonly resize: () => void;
};

type Extent = {
  readonly columns: number;
  readonly height: number;
  readonly hasColours: boolean;
};

/** What is written to show these lines in the place of the ones before. */
export function screenText(
  lines: readonly ScreenLine[],
  { columns, height, hasColours }: Extent,
): string {
  const shown = lines.slice(0, height).map((line) => {
    const { text, tone } = typeof line === "string" ? { text: line, tone: undefined } : line;
    const plain = printable(text).slice(0, columns);
    const coloured =
      hasColours && tone !== undefined ? `\u001B[${tones[tone]}m${plain}\u001B[0m` : plain;
    return `${coloured}${REST_OF_LINE}`;
  });
  return `${HOME}${shown.join("\r\n")}${REST_OF_SCREEN}`;
}

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
      return output.columns || COLUMNS;
    },
    get height() {
      return output.rows || HEIGHT;
    },
    show(lines) {
      // Node answers by NO_COLOR, FORCE_COLOR and TERM, and that standard output is a terminal.
      const hasColours = output.hasColors();
      output.write(screenText(lines, { columns: this.columns, height: this.height, hasColours }));
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
