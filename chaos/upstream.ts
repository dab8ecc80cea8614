/** A model that says what is asked of it, in one of many bad ways. */

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";

export type Upstream = {
  readonly url: string;
  /** How often each nonce was asked for. */
  readonly asked: Map<string, number>;
  /** Cuts every connection. */
  cutAll(): void;
  close(): void;
};

/** The truth: what the answer to a nonce is. */
export const truthOf = (nonce: string): string =>
  Array.from({ length: 40 }, (_, at) => `${nonce}-${at}`).join(" ");

const frame = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Answers the last message whose text has a nonce; one that is asked to go on says the rest. */
async function answer(body: string, response: ServerResponse, badness: number): Promise<void> {
  const said = /"role":"assistant","content":"([^"]*)"\}/.exec(body)?.[1] ?? "";
  const nonce = /nonce:(\w+)/.exec(body)?.[1] ?? "none";
  const rest = truthOf(nonce).slice(said.length);
  const mood = Math.random();
  if (mood < badness * 0.2) return void response.writeHead(500).end('{"error":{"message":"oops"}}');
  if (mood < badness * 0.3) return void response.destroy();
  const isStream = body.includes('"stream":true');
  if (!isStream) {
    const message = { role: "assistant", content: rest };
    const whole = JSON.stringify({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message, finish_reason: "stop" }],
    });
    response.writeHead(200, { "content-type": "application/json" });
    if (mood < badness * 0.5)
      return void response.write(whole.slice(0, 50), () => response.destroy());
    return void response.end(whole);
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const words = rest.match(/\S+\s*|\s+/g) ?? [];
  const breaksAt = mood < badness * 0.7 ? Math.floor(Math.random() * words.length) : Infinity;
  for (const [at, content] of words.entries()) {
    if (response.destroyed) return;
    // Some break off there, and some just say no more.
    if (at === breaksAt) return void (mood < badness * 0.6 && response.destroy());
    response.write(frame({ content }));
    if (at % 10 === 0) await pause(Math.random() * 30);
  }
  response.write(frame({}, "stop"));
  response.end("data: [DONE]\n\n");
}

export async function openUpstream(badness: number): Promise<Upstream> {
  const asked = new Map<string, number>();
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    response.on("error", () => {});
    void text(request)
      .then((body) => {
        const nonce = /nonce:(\w+)/.exec(body)?.[1] ?? "none";
        asked.set(nonce, (asked.get(nonce) ?? 0) + 1);
        return answer(body, response, badness);
      })
      .catch(() => response.destroy());
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    cutAll,
    close() {
      cutAll();
      server.close();
    },
  };
}
