import { sseFrame } from "../../stream/sse.ts";
import type { Emit } from "../../stream/stage.ts";
import { literalsOf, type Pieces } from "../shared/frame-runs.ts";
import { discard } from "../../stream/straight.ts";
import type { Fields } from "../../turn/turn.ts";

/** A frame of a block but for its index, which is known when the block's turn comes. */
type Piece =
  | { readonly type: "delta"; readonly delta: Fields }
  | { readonly type: "text"; readonly kind: TextKind; readonly pieces: Pieces };

/** Deltas that come often: what stands around their text is made once for a block. */
type TextKind = "text_delta" | "input_json_delta" | "thinking_delta";

const keys: Readonly<Record<TextKind, string>> = {
  text_delta: "text",
  input_json_delta: "partial_json",
  thinking_delta: "thinking",
};

/** One content block on its way to the client. */
export class QueuedBlock {
  readonly start: Fields;
  readonly pieces: Piece[] = [];
  index = -1;
  isClosed = false;
  /** It was cut off: it is never closed, so that nobody takes it for whole. */
  isCut = false;
  /** Whether anything was said in it. */
  isWritten = false;
  heads: Partial<Record<TextKind, string>> = {};

  constructor(start: Fields) {
    this.start = start;
  }
}

/**
 * Writes content blocks one after another, as the API does: one is open at a
 * time and its index is its place. What is said of a later one meanwhile waits.
 */
export class BlockQueue {
  readonly #queue: QueuedBlock[] = [];
  #next = 0;

  open(start: Fields, emit: Emit<string>): QueuedBlock {
    const block = new QueuedBlock(start);
    this.#queue.push(block);
    if (this.#queue[0] === block) this.#begin(block, emit);
    return block;
  }

  text(block: QueuedBlock, kind: TextKind, pieces: Pieces, emit: Emit<string>): void {
    block.isWritten = true;
    if (block.index < 0) return void block.pieces.push({ type: "text", kind, pieces });
    if (emit === discard) return;
    const head = (block.heads[kind] ??= headOf(block.index, kind));
    let frames = "";
    for (const literal of literalsOf(pieces)) frames += `${head}"${literal}"}}\n\n`;
    emit(frames);
  }

  delta(block: QueuedBlock, delta: Fields, emit: Emit<string>): void {
    block.isWritten = true;
    if (block.index < 0) return void block.pieces.push({ type: "delta", delta });
    write({ type: "content_block_delta", index: block.index, delta }, emit);
  }

  close(block: QueuedBlock, emit: Emit<string>): void {
    if (block.isClosed || block.isCut) return;
    block.isClosed = true;
    if (this.#queue[0] === block) this.#advance(emit);
  }

  /** Whether a block was left open: nothing can follow it. */
  cut(block: QueuedBlock): void {
    block.isCut = true;
  }

  /** Whether blocks wait behind one that was cut off; they are never written. */
  isStuck(): boolean {
    return this.#queue.length > 1 && this.#queue[0]?.isCut === true;
  }

  #begin(block: QueuedBlock, emit: Emit<string>): void {
    block.index = this.#next++;
    write({ type: "content_block_start", index: block.index, content_block: block.start }, emit);
    for (const piece of block.pieces)
      if (piece.type === "text") this.text(block, piece.kind, piece.pieces, emit);
      else this.delta(block, piece.delta, emit);
    block.pieces.length = 0;
  }

  /** Closes the open block and writes those behind it, up to one that goes on. */
  #advance(emit: Emit<string>): void {
    for (let block = this.#queue[0]; block?.isClosed === true; block = this.#queue[0]) {
      write({ type: "content_block_stop", index: block.index }, emit);
      this.#queue.shift();
      const [next] = this.#queue;
      if (next !== undefined) this.#begin(next, emit);
    }
  }
}

const headOf = (index: number, kind: TextKind): string =>
  `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${kind}","${keys[kind]}":`;

/** A frame under the name that readers go by. */
export function write(event: Fields, emit: Emit<string>): void {
  if (emit !== discard) emit(sseFrame(JSON.stringify(event), String(event.type)));
}
