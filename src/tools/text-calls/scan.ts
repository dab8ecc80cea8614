import { BLOCK, isSpace } from "./xml.ts";

/**
 * `text`: no part of a call. `held`: perhaps a part of one. `released`: the text held so far is no
 * call. `closed`: the end of a block.
 */
type Found = "text" | "held" | "released" | "closed";

type State =
  | "text"
  /** Inside the first tag. */
  | "head"
  /** After the first tag, before anything but white space. */
  | "lead"
  | "body"
  /** After the beginning of the closing tag. */
  | "closing"
  /** In a CDATA section. */
  | "data";

const OPEN = `<${BLOCK}`;
const CLOSE = `</${BLOCK}`;
const DATA = "<![CDATA[";
const marks = [OPEN, CLOSE, DATA];
/** The forms of an incomplete first tag: with a name in it, or without. */
const HEAD = new RegExp(
  `^${OPEN}(?:\\s+(?:n|na|nam|name|name=|name="[^"<>]*"?|name='[^'<>]*'?)?\\s*)?>?$`,
);
/** The most characters of a first tag: each one checks the whole tag so far. */
const MAX_HEAD = 300;

/**
 * Finds the blocks in a text that arrives in pieces. After the first tag every character is read
 * once, so the cost of a block does not depend on the pieces. A text that only mentions a block, as
 * in "the `<use_tool>` tag", is released at once: a block begins with an element or an object, or
 * has its name in the tag.
 */
export class BlockScan {
  #state: State = "text";
  #head = "";
  /** The end of the body so far, if a mark begins with it. */
  #mark = "";
  /** The number of closing brackets at the end of a CDATA section so far. */
  #brackets = 0;
  /** The length of the held text. */
  #length = 0;
  #inner = 0;

  /** True if the last text may belong to a call. */
  get holding(): boolean {
    return this.#state !== "text";
  }

  /** The offset in the closed block of the last tag that could open another block; 0 if it has no such tag. */
  get inner(): number {
    return this.#inner;
  }

  /** Ends the scan of the held text. */
  reset(): void {
    this.#state = "text";
  }

  /** Reads from an offset; returns the kind of text found, and where it ends. */
  read(text: string, from: number): { readonly found: Found; readonly to: number } {
    if (this.#state === "text") {
      const mark = text.indexOf("<", from);
      if (mark !== from) return { found: "text", to: mark === -1 ? text.length : mark };
      this.#begin();
    }
    let at = from;
    const counted = this.#length;
    while (at < text.length) {
      at = this.#skip(text, at);
      if (at === text.length) break;
      this.#length = counted + at - from;
      const next = this.#step(text.charAt(at), text.charCodeAt(at));
      if (next === undefined) {
        this.#state = "text";
        return { found: "released", to: at };
      }
      at++;
      if (next === "text") {
        this.#state = next;
        return { found: "closed", to: at };
      }
      this.#state = next;
    }
    this.#length = counted + at - from;
    return { found: "held", to: at };
  }

  #begin(): void {
    this.#state = "head";
    this.#head = this.#mark = "";
    this.#length = 0;
    this.#inner = 0;
  }

  /** Skips text without a meaning in the current state. */
  #skip(text: string, at: number): number {
    if (this.#state === "body" && this.#mark === "") return indexOrEnd(text, "<", at);
    return this.#state === "data" && this.#brackets === 0 ? indexOrEnd(text, "]", at) : at;
  }

  /** The next state; `text`: the block is closed, undefined: it is released. */
  #step(char: string, code: number): State | undefined {
    switch (this.#state) {
      case "head":
        return this.#stepHead(char);
      case "lead":
        if (isSpace(code)) return "lead";
        return char === "<" || char === "{" || this.#head.includes("=")
          ? this.#stepBody(char)
          : undefined;
      case "body":
        return this.#stepBody(char);
      case "closing":
        if (char === ">") return "text";
        return isSpace(code) ? "closing" : this.#stepBody(char);
      case "data":
        if (char === ">" && this.#brackets >= 2) return "body";
        this.#brackets = char === "]" ? this.#brackets + 1 : 0;
        return "data";
      default:
        return this.#state;
    }
  }

  #stepHead(char: string): State | undefined {
    this.#head += char;
    if (this.#head.length <= OPEN.length) return OPEN.startsWith(this.#head) ? "head" : undefined;
    if (this.#head.length > MAX_HEAD || !HEAD.test(this.#head)) return undefined;
    return char === ">" ? "lead" : "head";
  }

  #stepBody(char: string): State {
    const read = char === "<" ? char : this.#mark === "" ? "" : this.#mark + char;
    const mark = marks.find((one) => one.startsWith(read));
    this.#mark = mark === undefined || mark === read ? "" : read;
    if (mark !== read) return "body";
    if (mark === CLOSE) return "closing";
    if (mark === OPEN) {
      this.#inner = this.#length - OPEN.length + 1;
      return "body";
    }
    this.#brackets = 0;
    return "data";
  }
}

function indexOrEnd(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at === -1 ? text.length : at;
}
