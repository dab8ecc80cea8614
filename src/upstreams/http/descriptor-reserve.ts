import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import type { buildConnector } from "undici";

/** Largest reserve: a burst of new clients can still receive an error. */
const MOST_KEPT = 128;

/** The least descriptor that upstreams may not have; infinite if the system shows no limit. */
const limit = openFilesLimit();
const reserved = limit - Math.min(MOST_KEPT, Math.floor(limit / 4));

function openFilesLimit(): number {
  try {
    const [, limit] =
      /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return limit === undefined ? Infinity : Number(limit);
  } catch {
    return Infinity; // Only Linux has that file.
  }
}

/**
 * True if a socket has one of the last descriptors. The system hands out the
 * lowest free number, so that no count is needed.
 */
export function isInReserve(socket: Socket): boolean {
  const { _handle: handle } = socket as { readonly _handle?: { readonly fd?: number } | null };
  return (handle?.fd ?? -1) >= reserved;
}

/**
 * Leaves the last descriptors to clients: without a descriptor, the system
 * accepts new connections and closes them without an error.
 */
export function keepReserve(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...[error, socket]: buildConnector.CallbackArgs) => {
      if (error !== null) return callback(error, null);
      if (!isInReserve(socket)) return callback(null, socket);
      socket.destroy();
      callback(Object.assign(new Error("the last descriptors are kept"), { code: "EMFILE" }), null);
    });
}
