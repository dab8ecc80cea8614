import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import type { buildConnector } from "undici";

/** Of many descriptors, enough that a burst of new clients can be told what is the matter. */
const MOST_KEPT = 128;

/** The least number that is kept from upstreams; endless where the system does not say how many there are. */
const reserved = firstReserved(openFilesLimit());

function openFilesLimit(): number {
  try {
    const [, limit] =
      /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return limit === undefined ? Infinity : Number(limit);
  } catch {
    return Infinity; // Only Linux has that file.
  }
}

function firstReserved(limit: number): number {
  return limit - Math.min(MOST_KEPT, Math.floor(limit / 4));
}

/**
 * Whether a socket has one of the last descriptors. They are given out by the
 * lowest free number, so no count has to be kept.
 */
export function isInReserve(socket: Socket): boolean {
  const { _handle: handle } = socket as { readonly _handle?: { readonly fd?: number } | null };
  return (handle?.fd ?? -1) >= reserved;
}

/**
 * Leaves the last descriptors to clients: where a process has none, the system
 * accepts new connections only to close them, and nobody is told why.
 */
export function keepReserve(connect: buildConnector.connector): buildConnector.connector {
  return (options, told) =>
    connect(options, (...[error, socket]: buildConnector.CallbackArgs) => {
      if (error !== null) return told(error, null);
      if (!isInReserve(socket)) return told(null, socket);
      socket.destroy();
      told(Object.assign(new Error("the last descriptors are kept"), { code: "EMFILE" }), null);
    });
}
