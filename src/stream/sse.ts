import { createParser } from "eventsource-parser";
import { JsonScanner } from "../json/scan.ts";
import { Fault } from "../turn/fault.ts";

/** Takes one frame. `partial`: the connection closed before the frame was complete. */
type OnFrame = (data: string, name: string | undefined, partial: boolean) => void;

type SseOptions = {
  /** Characters of a frame that arrives in several pieces. */
  readonly longest?: number | undefined;
  readonly onComment?: ((text: string) => void) | undefined;
  /** Reads frames of `text` from `at` on and returns where the next one begins: `at` if it read none. */
  readonly onRun?: ((text: string, at: number) => number) | undefined;
};

const LONGEST = 16 * 1024 * 1024;
/** Most characters of JSON between the frames. */
const LONGEST_STRAY = 64 * 1024;
const LINE_FEED = 10;

/**
 * Splits text, which may arrive in any pieces, into SSE frames. It cuts frames of one data line out
 * of the text at once. The parser, made when it is needed, reads all others: those after a byte
 * order mark, those of several lines, those that a piece cuts in two, and everything after the
 * first carriage return that is not part of a CRLF.
 */
export class SseReader {
  readonly #onFrame: OnFrame;
  readonly #options: SseOptions;
  #parser: { feed(text: string): void } | undefined;
  /** True if the parser has read all frames that it was fed to their ends. */
  #isBetweenFrames = true;
  /** True if the text that the parser was fed last ends a line. */
  #endsLine = false;
  #hasReturns = false;
  /** A carriage return at the end of a piece, which may be half a CRLF. */
  #held = "";
  #isPartial = false;
  #isBroken = false;
  #hasCut = false;
  /** Lines of JSON between the frames, until they are whole. */
  #stray: { text: string; readonly scanner: JsonScanner } | undefined;
  /** The start of a line of JSON: the parser ignores such lines if they come in several pieces. */
  #open = "";

  constructor(onFrame: OnFrame, options: SseOptions = {}) {
    this.#onFrame = onFrame;
    this.#options = options;
  }

  feed(piece: string): void {
    const goesOn = this.#open !== "" && this.#held === "" && !/[\r\n]/.test(piece);
    if (goesOn && this.#open.length < LONGEST_STRAY) return void (this.#open += piece);
    const lines = this.#hasReturns ? piece : this.#withLineFeeds(piece);
    const text = this.#open + lines;
    this.#open = "";
    for (let at = 0; at < text.length;) {
      const next = this.#isBetweenFrames && !this.#hasReturns ? this.#cut(text, at) : at;
      at = next > at ? next : this.#parse(text, at);
    }
  }

  /** The connection closed: emits the open frame as a partial one. */
  end(): void {
    const isOpen = this.#open !== "";
    if (!this.#isBroken && !isOpen) this.#parser?.feed(this.#held);
    this.#isPartial = true;
    if (!this.#isBroken) this.#parser?.feed(isOpen ? `${this.#open}\n\n` : "\n\n");
  }

  /** Replaces each CRLF by the line feed that means the same: frames and runs are found by line feeds. */
  #withLineFeeds(piece: string): string {
    if (this.#held === "" && !piece.includes("\r")) return piece;
    const text = (this.#held + piece).replaceAll("\r\n", "\n");
    const lines = text.endsWith("\r") ? text.slice(0, -1) : text;
    this.#hasReturns = lines.includes("\r");
    this.#held = this.#hasReturns ? "" : text.slice(lines.length);
    return this.#hasReturns ? text : lines;
  }

  /** Reads a frame of one data line, or a run; returns where the next begins. */
  #cut(text: string, at: number): number {
    const next = this.#options.onRun?.(text, at) ?? at;
    if (next > at) return next;
    let from = at;
    let name: string | undefined;
    if (text.startsWith("event: ", at)) {
      from = text.indexOf("\n", at) + 1;
      if (from === 0) return at;
      if (from > at + 8) name = text.slice(at + 7, from - 1);
    }
    if (!text.startsWith("data: ", from)) return at;
    const end = text.indexOf("\n", from);
    if (end === -1 || text.charCodeAt(end + 1) !== LINE_FEED) return at;
    this.#hasCut = true;
    this.#onFrame(text.slice(from + 6, end), name, false);
    return end + 2;
  }

  /** Feeds the parser up to the next blank line; returns where the text after it begins. */
  #parse(text: string, at: number): number {
    const isBlank = this.#endsLine && text.charCodeAt(at) === LINE_FEED;
    const blank = this.#hasReturns ? -1 : isBlank ? at - 1 : text.indexOf("\n\n", at);
    const end = blank === -1 ? text.length : blank + 2;
    const open = blank === -1 ? this.#openJson(text, at) : end;
    this.#open = text.slice(open, end);
    this.#isBetweenFrames = blank !== -1;
    this.#parser ??= this.#makeParser();
    this.#parser.feed(text.slice(at, open));
    this.#endsLine = "\r\n".includes(text.charAt(open - 1));
    return end;
  }

  /** Where the last line begins if it may be JSON, else the end of the text. */
  #openJson(text: string, at: number): number {
    // A search backwards for what is not there reads the whole text, one character at a time.
    const lastReturn = this.#hasReturns ? text.lastIndexOf("\r") : -1;
    const line = Math.max(text.lastIndexOf("\n"), lastReturn, at - 1) + 1;
    const isStart = line > at || this.#isBetweenFrames || this.#endsLine;
    const mayBeJson = isStart && ' \t{}[]"'.includes(text.charAt(line));
    return mayBeJson && text.length - line < LONGEST_STRAY ? line : text.length;
  }

  /** Some upstreams send an error as bare JSON, in several lines, behind the frames. */
  #readStray(line: string): void {
    if (this.#stray === undefined && !/^\s*[{[]/.test(line)) return;
    const stray = (this.#stray ??= { text: "", scanner: new JsonScanner() });
    stray.text += `${line}\n`;
    stray.scanner.follow(`${line}\n`);
    const isOpen = stray.scanner.isOpen();
    if (isOpen && stray.text.length <= LONGEST_STRAY) return;
    this.#stray = undefined;
    if (!isOpen) this.#onFrame(stray.text, "error", this.#isPartial);
  }

  #makeParser(): { feed(text: string): void } {
    const { longest = LONGEST, onComment } = this.#options;
    const onFrame = this.#onFrame;
    const parser = createParser({
      maxBufferSize: longest,
      onEvent: ({ data, event }) => onFrame(data, event, this.#isPartial),
      ...(onComment && { onComment }),
      onError: (error) => {
        // Some upstreams send an error in a field `error`, which SSE does not have.
        if (error.field === "error") onFrame(error.value ?? "", "error", this.#isPartial);
        if (error.type === "unknown-field") this.#readStray(error.line ?? "");
        if (error.type !== "max-buffer-size-exceeded") return;
        this.#isBroken = true;
        throw new Fault(
          "upstream.malformed",
          `The upstream sent a frame of more than ${longest} characters, which is not read; try again, or another model.`,
          {},
          error,
        );
      },
    });
    // A byte order mark counts only at the start of the stream, and the parser looks for one in its first text.
    if (this.#hasCut) parser.feed("\n");
    return parser;
  }
}

/** The JSON of this gateway has no line breaks; the JSON of an upstream may have. */
export function sseFrame(data: string, name?: string): string {
  const lines = data.includes("\n") ? data.replaceAll("\n", "\ndata: ") : data;
  return name === undefined ? `data: ${lines}\n\n` : `event: ${name}\ndata: ${lines}\n\n`;
}

export const sseDone = "data: [DONE]\n\n";

export const sseComment = (text: string): string => `: ${text.replaceAll(/[\r\n]+/g, " ")}\n\n`;
