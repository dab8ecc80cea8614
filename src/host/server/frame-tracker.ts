/** The frame that is being read (RFC 6455, section 5.2). */
type Frame = {
  /** Bytes of its head: how many there are to be, and how many have come. */
  headSize: number;
  headRead: number;
  /** Where the bytes of a long length end. */
  lengthEnd: number;
  /** Bytes of its payload that have yet to come. */
  left: number;
  isFinal: boolean;
  isControl: boolean;
};

/**
 * Follows the frames on a WebSocket without keeping any, to know what of a chunk
 * belongs to a message that is not whole: the WebSocket library reports messages
 * only when they are.
 */
export class FrameTracker {
  readonly #frame: Frame = {
    headSize: 2,
    headRead: 0,
    lengthEnd: 2,
    left: 0,
    isFinal: true,
    isControl: false,
  };
  #parts = 0;

  /** Frames of the message under way, the one in arrival included. */
  get parts(): number {
    return this.#parts;
  }

  /** Whether a message or a frame has begun and not ended. */
  get isAmid(): boolean {
    return this.#parts > 0 || this.#frame.headRead > 0;
  }

  /** Reads what came next. True where all that was under way before has ended. */
  read(chunk: Uint8Array): boolean {
    const frame = this.#frame;
    let hasEnded = false;
    for (let at = 0; at < chunk.length;) {
      if (frame.headRead < frame.headSize) this.#readHead(chunk[at++] ?? 0);
      else {
        const skipped = Math.min(frame.left, chunk.length - at);
        frame.left -= skipped;
        at += skipped;
      }
      if (frame.headRead === frame.headSize && frame.left === 0) {
        this.#endFrame();
        if (!this.isAmid) hasEnded = true;
      }
    }
    return hasEnded;
  }

  #readHead(byte: number): void {
    const frame = this.#frame;
    const at = frame.headRead++;
    if (at === 0) {
      frame.isFinal = (byte & 0x80) !== 0;
      frame.isControl = (byte & 0x08) !== 0;
      if (!frame.isControl) this.#parts++;
    } else if (at === 1) {
      const length = byte & 0x7f;
      frame.left = length < 126 ? length : 0;
      frame.lengthEnd = length < 126 ? 2 : length === 126 ? 4 : 10;
      frame.headSize = frame.lengthEnd + ((byte & 0x80) === 0 ? 0 : 4);
    } else if (at < frame.lengthEnd) frame.left = frame.left * 256 + byte;
  }

  /** Control frames may come between the frames of a message, and end none. */
  #endFrame(): void {
    const frame = this.#frame;
    frame.headRead = 0;
    frame.headSize = 2;
    if (frame.isFinal && !frame.isControl) this.#parts = 0;
  }
}
