import { once } from "node:events";
import { WebSocket } from "ws";
import type { Body } from "./fake-upstream.ts";

/** What ends a turn. */
const ends = new Set(["response.completed", "response.incomplete", "response.failed", "error"]);

/** A client of the Responses API over one WebSocket. */
export type SocketClient = AsyncDisposable & {
  readonly socket: WebSocket;
  send(message: unknown): void;
  /** The next event. */
  next(): Promise<Body>;
  /** All events up to the one that ends the turn. */
  turn(): Promise<readonly Body[]>;
  /** Sends `response.create` and waits for the end of its turn. */
  create(fields: Body): Promise<readonly Body[]>;
  /** The code that the other side closes with. */
  readonly closed: Promise<number>;
};

export async function socketClient(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<SocketClient> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/v1/responses`, { headers });
  const events: Body[] = [];
  let wake = (): void => {};
  let isClosed = false;
  const closed = new Promise<number>((resolve) =>
    socket.on("close", (code) => {
      isClosed = true;
      wake();
      resolve(code);
    }),
  );
  socket.on("message", (data) => {
    events.push(JSON.parse((data as Buffer).toString()) as Body);
    wake();
  });
  await once(socket, "open");
  socket.on("error", () => {});

  const next = async (): Promise<Body> => {
    for (;;) {
      const event = events.shift();
      if (event !== undefined) return event;
      if (isClosed) throw new Error("the connection was closed");
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  const turn = async (): Promise<Body[]> => {
    const all = [];
    for (;;) {
      const event = await next();
      all.push(event);
      if (ends.has(String(event["type"]))) return all;
    }
  };
  const send = (message: unknown): void =>
    socket.send(typeof message === "string" ? message : JSON.stringify(message));
  return {
    socket,
    send,
    next,
    turn,
    create(fields) {
      send({ type: "response.create", model: "m", ...fields });
      return turn();
    },
    closed,
    async [Symbol.asyncDispose]() {
      socket.terminate();
      await closed;
    },
  };
}

/** The status that a server refuses to open a WebSocket with, and the body. */
export async function refusedSocket(
  url: string,
  path = "/v1/responses",
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly body: Body }> {
  const socket = new WebSocket(url.replace(/^http/, "ws") + path, { headers });
  return new Promise((resolve, reject) => {
    socket.on("open", () => reject(new Error("it was opened")));
    socket.on("error", () => {});
    socket.on("unexpected-response", (request, response) => {
      let text = "";
      response.on("data", (piece: Buffer) => (text += piece.toString()));
      response.on("end", () => {
        request.destroy();
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Body });
      });
    });
  });
}
