import { BLOCK, isSpace } from "./xml.ts";

/**
 * What a piece of text is: no part of a call; perhaps one; no part of one after
 * all, with what was taken for it; or the end of one.
 */
export type Found = "text" | "held" | "released" | "closed";

type State =
  | "text"
  /** In the first tag. */
  | "head"
  /** Between that tag and what follows. */
  | "lead"
  | "body"
  /** In a body, where a tag may begin that matters. */
  | "inner"
  | "closing"
  | "data";

const OPEN = `<${BLOCK}`;
const CLOSE = `</${BLOCK}`;
const DATA = "<![CDATA[";
/** What the first tag may be so far: it has a name in it, or nothing. */
const HEAD = new RegExp(
  `^${OPEN}(?:\\s+(?:n|na|nam|name|name=|name="[^"<>]*"?|name='[^'<>]*'?)?\\s*)?>?$`,
);
/** A longer first tag is none: each character of it is checked with those before. */
const MAX_HEAD = 300;

/**
 * Finds the blocks in a text that comes in pieces. Behind its first tag every
 * character is looked at once, so that a block costs the same in however many pieces it comes. What is
 * spoken of and not written, as in "the `<use_tool>` tag", is let go at once: a
 * block begins with an element or an object, or has its name in the tag.
 */
export class BlockScan {
  #state: State = "text";
  #head = "";
  /** How much of a mark has been seen, and which. */
  #seen = 0;
  #mark = OPEN;
  /** How many brackets stand at the end of a section so far. */
  #brackets = 0;
  /** How far the scan is in what it holds. */
  #length = 0;
  #inner = 0;

  /** Whether what was read last may belong to a call. */
  get holding(): boolean {
    return this.#state !== "text";
  }

  /** Where in the block just closed the last tag stands that could open another; 0: nowhere. */
  get inner(): number {
    return this.#inner;
  }

  /** Nothing more comes of what it holds. */
  reset(): void {
    this.#state = "text";
  }

  /** Reads on from a place; gives how far, and what that was. */
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
    this.#head = "";
    this.#length = 0;
    this.#inner = 0;
  }

  /** Passes over what means nothing where the scan is. */
  #skip(text: string, at: number): number {
    if (this.#state === "body") return indexOrEnd(text, "<", at);
    return this.#state === "data" && this.#brackets === 0 ? indexOrEnd(text, "]", at) : at;
  }

  /** What one character leads to: `text` closes the block, nothing lets it go. */
  #step(char: string, code: number): State | undefined {
    switch (this.#state) {
      case "head":
        return this.#stepHead(char);
      case "lead":
        if (isSpace(code)) return "lead";
        if (char === "<") return this.#maybe();
        return char === "{" || this.#head.includes("=") ? "body" : undefined;
      case "body":
        return char === "<" ? this.#maybe() : "body";
      case "inner":
        return this.#follow(char);
      case "closing":
        if (char === ">") return "text";
        return isSpace(code) ? "closing" : char === "<" ? this.#maybe() : "body";
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

  #maybe(): State {
    this.#seen = 1;
    return "inner";
  }

  /** Follows one of the marks that matter in a body. */
  #follow(char: string): State {
    if (this.#seen === 1) this.#mark = char === "/" ? CLOSE : char === "!" ? DATA : OPEN;
    if (char !== this.#mark.charAt(this.#seen)) return char === "<" ? this.#maybe() : "body";
    if (++this.#seen < this.#mark.length) return "inner";
    if (this.#mark === CLOSE) return "closing";
    if (this.#mark === OPEN) {
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
