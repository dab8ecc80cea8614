import { emitKeypressEvents, type Key } from "node:readline";
import type { DoneRow, FeedBatch, TurnRow, RunningRow } from "../../src/observe/console/wire.ts";
import { printable } from "../../src/terminal.ts";
import { aligned } from "../output.ts";
import {
  clockTime,
  cost,
  turnFaultText,
  plain,
  planSigns,
  reasonLines,
  seconds,
  short,
} from "../turn-lines.ts";

/** The orders of the table; the key `s` goes through them. */
const sorts = ["time", "duration", "tokens", "calls"] as const;
type Sort = (typeof sorts)[number];

type TopRow = {
  readonly requestId: string;
  readonly at: number;
  readonly isRunning: boolean;
  readonly isWrong: boolean;
  readonly ms: number;
  readonly tokens: number;
  readonly calls: number;
  readonly cells: readonly string[];
  /** The reasons of failed requests to upstreams. */
  readonly reasons?: readonly string[] | undefined;
};

const MOST_ROWS = 2_000;

/** The table of `patchbay top`: the turns of all batches so far, sorted and filtered. */
export class TopModel {
  readonly #ended: TopRow[] = [];
  readonly #running = new Map<string, readonly TopRow[]>();
  #counts = { turns: 0, wrong: 0, lost: 0 };
  #sort: Sort = "time";
  #selected = 0;
  filter = "";
  /** True while keys are letters of the filter. */
  isTyping = false;
  isLive = true;

  add({ socket, turns, running, lost, unsent }: FeedBatch & { readonly socket: string }): void {
    for (const row of turns) this.#ended.push(endedRow(row));
    if (this.#ended.length > MOST_ROWS) this.#ended.splice(0, this.#ended.length - MOST_ROWS);
    this.#counts.turns += turns.length + unsent;
    this.#counts.wrong += turns.map(endedRow).filter(({ isWrong }) => isWrong).length;
    this.#counts.lost += lost;
    this.#running.set(socket, running.map(runningRow));
  }

  /** Handles a key of the table; other keys change nothing. */
  press(key: string, text: string): void {
    if (key === "escape") {
      this.#filterBy("");
      this.isTyping = false;
    } else if (this.isTyping) this.#type(key, text);
    else if (key === "s") this.nextSort();
    else if (key === "f") this.isTyping = true;
    else if (key === "down" || key === "j") this.move(1);
    else if (key === "up" || key === "k") this.move(-1);
  }

  #type(key: string, text: string): void {
    if (key === "return") this.isTyping = false;
    else if (key === "backspace") this.#filterBy(this.filter.slice(0, -1));
    else if (/^[\x20-\x7E]+$/.test(text)) this.#filterBy(this.filter + text);
  }

  /** Selects the first row, because the filter may hide the one before. */
  #filterBy(filter: string): void {
    this.filter = filter;
    this.#selected = 0;
  }

  nextSort(): void {
    this.#sort = sorts[(sorts.indexOf(this.#sort) + 1) % sorts.length] ?? "time";
  }

  move(by: number): void {
    this.#selected = Math.max(0, Math.min(this.#selected + by, this.rows().length - 1));
  }

  chosen(): TopRow | undefined {
    return this.rows()[this.#selected];
  }

  /** Turns under way come first; then by the order, the largest or latest first. */
  rows(): readonly TopRow[] {
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = ({ cells, requestId }: TopRow): boolean => {
      const text = `${cells.join(" ")} ${requestId}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const value = (row: TopRow): number =>
      ({ time: row.at, duration: row.ms, tokens: row.tokens, calls: row.calls })[this.#sort];
    return [...[...this.#running.values()].flat(), ...this.#ended]
      .filter(fits)
      .toSorted((a, b) => Number(b.isRunning) - Number(a.isRunning) || value(b) - value(a));
  }

  lines(title: string, columns: number, height: number): ScreenLine[] {
    const rows = this.rows();
    const running = rows.filter(({ isRunning }) => isRunning).length;
    // The last line shows the reason of the selected row.
    const room = Math.max(1, height - 4);
    const first = Math.max(0, Math.min(this.#selected - room + 1, rows.length - room));
    const shown = rows.slice(first, first + room);
    const { turns, wrong, lost } = this.#counts;
    const table = aligned([heads, ...shown.map(({ cells }) => cells)], "");
    const state = this.isLive ? "" : "  the gateway has stopped";
    const isChosen = (at: number): boolean => at - 1 === this.#selected - first;
    const lines: ScreenLine[] = [
      `${title}  ${running} running, ${turns} turns, ${wrong} wrong${lost > 0 ? `, ${lost} missed` : ""}${state}`,
      this.#keys(),
      ...table.map((line, at) => {
        const text = `${isChosen(at) ? ">" : " "}${line}`;
        const tone = at === 0 ? "head" : toneOf(shown[at - 1]);
        return tone === undefined ? text : { text, tone };
      }),
      ...(rows.length > 0 ? [] : [this.#emptiness()]),
      ...(rows[this.#selected]?.reasons?.slice(-1) ?? []),
    ];
    return lines.map((line) =>
      typeof line === "string"
        ? line.slice(0, columns)
        : { tone: line.tone, text: line.text.slice(0, columns) },
    );
  }

  #keys(): ScreenLine {
    if (this.isTyping)
      return { text: `filter: ${this.filter}_   Enter applies it   Esc clears it`, tone: "filter" };
    if (this.filter === "") return `s sort: ${this.#sort}   f filter   Enter one turn   q quit`;
    const text = `filter: ${this.filter}   Esc clears it   f edit   s sort: ${this.#sort}   Enter one turn   q quit`;
    return { text, tone: "filter" };
  }

  #emptiness(): string {
    if (this.filter.trim() === "") return "  No turns yet.";
    return `  Nothing matches \`${this.filter}\`; Esc clears the filter.`;
  }
}

const toneOf = (row: TopRow | undefined): Tone | undefined =>
  row?.isWrong === true ? "wrong" : row?.isRunning === true ? "running" : undefined;

const heads = "time agent model upstream tools calls in/out cost first total result".split(" ");

function endedRow(row: TurnRow): TopRow {
  const { at, requestId } = row;
  const ended = { requestId, at, isRunning: false };
  if (row.type === "refusal") {
    const { route, fault } = row;
    const cells = [clockTime(at), "-", "-", plain(route, 30), "", "", "", "-", "-", "-", fault];
    return { ...ended, isWrong: true, ms: 0, tokens: 0, calls: 0, cells };
  }
  const { usage, calls, ms } = row;
  return {
    ...ended,
    isWrong: row.outcome === "failed",
    ms,
    tokens: usage?.total ?? 0,
    calls: calls.given,
    reasons: reasonLines(row),
    cells: turnCells(row, at, {
      calls: String(calls.given),
      tokens: `${short(usage?.input)}/${short(usage?.output)}`,
      cost: cost(row),
      how: row.fault === undefined ? row.outcome : turnFaultText(row),
    }),
  };
}

function runningRow(row: RunningRow): TopRow {
  const { requestId, startedAt: at, ms, calls } = row;
  const own = { calls: `${calls}…`, tokens: "…", cost: "-", how: `◌ ${row.step}` };
  const cells = turnCells(row, at, own);
  return { requestId, at, isRunning: true, isWrong: false, ms, tokens: 0, calls, cells };
}

const turnCells = (
  row: DoneRow | RunningRow,
  at: number,
  own: Readonly<Record<"calls" | "tokens" | "cost" | "how", string>>,
): readonly string[] => [
  clockTime(at),
  row.agent ?? "-",
  plain(row.model, 24),
  plain(row.upstream, 30),
  planSigns(row.plan),
  own.calls,
  own.tokens,
  own.cost,
  seconds(row.firstEventMs),
  seconds(row.ms),
  own.how,
];

/** A terminal that shows one screen of lines and reads keys. */
type Screen = Disposable & {
  readonly columns: number;
  readonly height: number;
  show(lines: readonly ScreenLine[]): void;
};

type Tone = keyof typeof tones;

/** A line of text; `tone` is its style if the terminal has colours. */
export type ScreenLine = string | { readonly text: string; readonly tone: Tone };

/** Select Graphic Rendition: bold, red, cyan, yellow. */
const tones = { head: 1, wrong: 31, running: 36, filter: 33 } as const;

const ENTER_SCREEN = "\u001B[?1049h\u001B[?25l";
const LEAVE_SCREEN = "\u001B[?25h\u001B[?1049l";
const HOME = "\u001B[H";
const REST_OF_LINE = "\u001B[K";
const REST_OF_SCREEN = "\u001B[J";

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

/** The text that replaces the lines on the screen. */
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

/** Takes over the terminal. Disposing of the screen restores it. */
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
      // Depends on NO_COLOR, FORCE_COLOR and TERM, and on whether standard output is a terminal.
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
