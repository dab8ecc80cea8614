import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export type Loopback = AsyncDisposable & {
  readonly url: string;
  readonly server: Server;
  /** Connections accepted so far. */
  readonly sockets: readonly Socket[];
};

/** An HTTP server on loopback that behaves, or misbehaves, as the listener says. */
export async function loopback(listener: RequestListener): Promise<Loopback> {
  const sockets: Socket[] = [];
  const server = createServer(listener);
  // Node closes a kept connection after 5 s: of a process that stands still, just as it is used again.
  server.keepAliveTimeout = 0;
  server.on("connection", (socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    server,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Waits for something that happens elsewhere in this process, without naming a time. */
export async function until(what: () => boolean): Promise<void> {
  for (let looks = 0; !what(); looks++)
    // Looks at once again for as long as it may be a matter of the event loop, then leaves the CPU
    // to what it waits for.
    await new Promise((resolve) => (looks < 50 ? setImmediate(resolve) : setTimeout(resolve, 2)));
}

/** Waits until a count has stood still for a while. */
export async function untilUnchanged(count: () => number): Promise<void> {
  for (let still = 0, last = -1; still < 10; still = count() === last ? still + 1 : 0) {
    last = count();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
