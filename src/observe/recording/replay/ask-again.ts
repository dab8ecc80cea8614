/** Serves the request of a bundle by a gateway, and keeps what is replied. */

import type { Exchange, ReplyData } from "../../../gateway/http/exchange.ts";
import type { Gateway } from "../../../gateway/gateway.ts";
import { Session } from "../../../gateway/http/session.ts";
import type { Fault } from "../../../turn/fault.ts";
import type { Bundle } from "../bundle.ts";

/** What a client was sent. */
export type SeenReply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly Buffer[];
  /** What a message on a WebSocket was refused with: it has no reply of its own. */
  readonly fault?: Fault | undefined;
};

export type AskedAgain = {
  readonly isOver: () => boolean;
  readonly ended: Promise<void>;
  readonly seen: () => SeenReply;
};

/** Calls `leave` when the client is to leave; without it, the client stays to the end. */
export type ClientLeaves = (leave: () => void) => void;

/**
 * The body goes in as it was recorded, past what unpacks bodies and counts their
 * bytes: it was unpacked before it was recorded.
 */
export function askAgain(
  gateway: Pick<Gateway, "handle">,
  { request }: Pick<Bundle, "request">,
  clientLeaves?: ClientLeaves,
): AskedAgain {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let [status, isOver] = [0, false];
  let headers: SeenReply["headers"] = {};
  let refusedWith: Fault | undefined;
  const chunks: Buffer[] = [];
  const end = (): void => {
    isOver = true;
    resolve();
  };
  const keep = (data: ReplyData | undefined): void => {
    if (data !== undefined && data.length > 0) chunks.push(Buffer.from(data as string));
  };
  const refuse = (fault: Fault, fields: Readonly<Record<string, string>>): void => {
    [status, headers, refusedWith] = [fault.status, fields, fault];
    end();
  };
  const exchange: Exchange = {
    method: request.method,
    path: request.path,
    query: "",
    headers: { "content-type": "application/json", ...request.headers },
    body: request.body,
    ...(request.socket === true && { session: new Session() }),
    reply: {
      head: (code, fields) => void ([status, headers] = [code, fields]),
      write: (data) => (keep(data), true),
      end(data) {
        keep(data);
        end();
      },
      ...(request.socket === true && { refuse }),
      onDrain() {},
      onLeave(then) {
        clientLeaves?.(() => {
          if (isOver) return;
          then();
          end();
        });
      },
    },
  };
  gateway.handle(exchange);
  return {
    isOver: () => isOver,
    ended,
    seen: () => ({ status, headers, chunks, fault: refusedWith }),
  };
}
