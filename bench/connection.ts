import { connect, type Socket } from "node:net";

type Answered = (fault: string | undefined) => void;

const lastChunk = Buffer.from("\r\n0\r\n\r\n");

/** One keep-alive connection with one request at a time; it looks only for an answer's end. */
export class Connection {
  readonly #port: number;
  #socket: Socket | undefined;
  #answered: Answered | undefined;
  #least = 0;
  /** What has come of the head, or of a chunked body its last bytes. */
  #held: Buffer = Buffer.alloc(0);
  #inBody = false;
  #status = "";
  #length: number | undefined;
  #received = 0;

  constructor(port: number) {
    this.#port = port;
  }

  /** Asks, and says what was wrong with the answer, if anything. */
  ask(request: Buffer, least: number, answered: Answered): void {
    this.#least = least;
    this.#answered = answered;
    this.#socket ??= this.#open();
    this.#socket.write(request);
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    const socket = connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
    socket.on("data", (data: Buffer) => this.#read(data));
    socket.on("error", (error) => this.#finish(error.message));
    socket.on("close", () => {
      if (this.#socket === socket) this.#socket = undefined;
      this.#finish("the connection closed before the answer's end");
    });
    return socket;
  }

  #read(data: Buffer): void {
    if (this.#inBody) return this.#readBody(data);
    const bytes = this.#held.length > 0 ? Buffer.concat([this.#held, data]) : data;
    const end = bytes.indexOf("\r\n\r\n");
    this.#held = bytes;
    if (end < 0) return;
    const head = bytes.toString("latin1", 0, end);
    const length = /content-length: *(\d+)/i.exec(head)?.[1];
    this.#status = head.slice(9, 12);
    this.#length = length === undefined ? undefined : Number(length);
    this.#held = Buffer.alloc(0);
    this.#inBody = true;
    this.#readBody(bytes.subarray(end + 4));
  }

  #readBody(data: Buffer): void {
    this.#received += data.length;
    if (this.#length !== undefined) {
      if (this.#received >= this.#length) this.#finish(this.#fault());
      return;
    }
    const tail = data.length < 7 ? Buffer.concat([this.#held, data]) : data;
    this.#held = tail.subarray(-7);
    if (this.#held.equals(lastChunk)) this.#finish(this.#fault());
  }

  #fault(): string | undefined {
    if (this.#status !== "200") return `status ${this.#status}`;
    return this.#received < this.#least ? `only ${this.#received} bytes came` : undefined;
  }

  #finish(fault: string | undefined): void {
    this.#held = Buffer.alloc(0);
    this.#inBody = false;
    this.#received = 0;
    const answered = this.#answered;
    this.#answered = undefined;
    answered?.(fault);
  }
}
