import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { loopback } from "./loopback.ts";

/** Closes the connection without ending the answer. */
export const cut = Symbol("cut");
/** Says nothing more and keeps the connection. */
export const hang = Symbol("hang");

/** What a fake upstream does next: sends, waits for something, or misbehaves. */
export type Step = string | Uint8Array | Promise<unknown> | typeof cut | typeof hang;

export type Answer = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The head is sent with the first bytes. */
  readonly steps: Iterable<Step> | AsyncIterable<Step>;
};

/** A request as it arrived, and what became of it. */
export type ReceivedRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Body;
  /** Settles when the exchange is over, either way. */
  readonly closed: Promise<void>;
  /** The other side let go before the answer was over. */
  readonly abandoned: () => boolean;
};

/** A request body, as loosely as a test needs it. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests look wherever they like
export type Body = Record<string, any>;

export type Model = (request: ReceivedRequest, index: number) => Answer;

export type FakeUpstream = AsyncDisposable & {
  /** A `base_url`. */
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  /** How many connections are open. */
  connections(): number;
};

/** An HTTP server that plays raw answers and remembers what it was asked. */
export async function fakeUpstream(model: Model): Promise<FakeUpstream> {
  const requests: ReceivedRequest[] = [];
  const server = await loopback((request, response) => {
    void receive(request, response).then((one) => {
      requests.push(one);
      return play(model(one, requests.length - 1), response);
    });
  });
  return {
    url: `${server.url}/v1`,
    requests,
    connections: () => server.sockets.filter((socket) => !socket.destroyed).length,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<ReceivedRequest> {
  const closed = new Promise<void>((resolve) => response.once("close", resolve));
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString();
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    headers: request.headers,
    text,
    body: text === "" ? {} : (JSON.parse(text) as Body),
    closed,
    abandoned: () => response.destroyed && !response.writableFinished,
  };
}

async function play(answer: Answer, response: ServerResponse): Promise<void> {
  let wake = (): void => {};
  response.on("drain", () => wake()).on("close", () => wake());
  const room = (): Promise<void> => new Promise((resolve) => void (wake = resolve));

  response.writeHead(answer.status ?? 200, answer.headers);
  for await (const step of answer.steps) {
    if (response.destroyed || step === hang) return;
    // What was sent before it must have gone out.
    if (step === cut) return void setImmediate(() => response.destroy());
    if (typeof step === "string" || step instanceof Uint8Array)
      if (!response.write(step) && !response.destroyed) await room();
  }
  response.end();
}

export const json = (
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Answer => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  steps: [typeof body === "string" ? body : JSON.stringify(body)],
});

export const sse = (...steps: Step[]): Answer => ({
  headers: { "content-type": "text/event-stream" },
  steps,
});

/** One frame of a stream. */
export const frame = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
export const done = "data: [DONE]\n\n";
