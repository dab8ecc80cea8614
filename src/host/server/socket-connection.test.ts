import { EventEmitter } from "node:events";
import type { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import type { WebSocket } from "ws";
import { stillClock } from "../../../test/support/still-clock.ts";
import { ByteBudget } from "../../gateway/http/budget.ts";
import type { Exchange } from "../../gateway/http/exchange.ts";
import { LIFETIME_MS, PING_MS, SocketConnection } from "./socket-connection.ts";

const MB = 1024 * 1024;

/** A connection whose other side does what the test says. */
function connected() {
  const clock = stillClock();
  const heard: string[] = [];
  const exchanges: Exchange[] = [];
  const socket = Object.assign(new EventEmitter(), {
    send: (json: string) => void heard.push(json),
    ping: () => void heard.push("ping"),
    terminate() {
      heard.push("terminate");
      socket.emit("close");
    },
    close(code: number) {
      heard.push(`close ${code}`);
      socket.emit("close");
    },
  });
  const bodyBudget = new ByteBudget(8 * MB);
  const wire = Object.assign(new EventEmitter(), { resume() {}, end() {} });
  const connection = new SocketConnection(
    socket as unknown as WebSocket,
    wire as unknown as Duplex,
    {
      gateway: {
        handle: (exchange) => void exchanges.push(exchange),
        refuse: ({ reply }, fault) => reply.refuse?.(fault, {}),
        bodyLimit: MB,
        bodyBudget,
        sessionBudget: new ByteBudget(8 * MB),
      },
      tenant: "ann",
      request: { path: "/v1/responses", query: "", headers: {}, foreign: undefined },
      clock,
    },
  );
  return { clock, heard, exchanges, socket, wire, bodyBudget, connection };
}

describe("a WebSocket's connection", () => {
  it("is kept as long as the other side answers, and cut when it does not", () => {
    const { clock, heard, socket } = connected();
    clock.move(PING_MS);
    socket.emit("pong");
    clock.move(PING_MS);
    expect(heard).toEqual(["ping", "ping"]);
    clock.move(PING_MS);
    expect(heard).toEqual(["ping", "ping", "terminate"]);
    expect(clock.waiting()).toBe(0);
  });

  it("stops its turn when it is cut", () => {
    const { clock, exchanges, socket } = connected();
    let left = false;
    socket.emit("message", Buffer.from("{}"), false);
    exchanges[0]?.reply.onLeave(() => (left = true));
    clock.move(2 * PING_MS);
    expect(left).toBe(true);
  });

  it("ends after an hour, but not in the middle of a turn", async () => {
    const { clock, heard, exchanges, socket } = connected();
    socket.emit("message", Buffer.from("{}"), false);
    for (let at = 0; at < LIFETIME_MS; at += PING_MS) {
      socket.emit("pong");
      clock.move(PING_MS);
    }
    expect(heard.filter((one) => one !== "ping")).toEqual([]);
    exchanges[0]?.reply.end('event: response.completed\ndata: {"a":1}\n\ndata: [DONE]\n\n');
    await Promise.resolve();
    const [answer, refusal, closing] = heard.filter((one) => one !== "ping");
    expect(answer).toBe('{"a":1}');
    expect(JSON.parse(refusal ?? "")).toMatchObject({
      type: "error",
      status: 400,
      error: { code: "websocket_connection_limit_reached" },
    });
    expect(closing).toBe("close 1001");
  });

  /** What a client sends of a message of so many bytes that is not its last frame. */
  const fragment = (length: number): Buffer =>
    Buffer.from([0x01, 0xff, 0, 0, 0, 0, 0, length >> 16, length >> 8, length]);

  it("is refused a message that comes too slowly, and closed", async () => {
    const { clock, heard, wire, bodyBudget } = connected();
    wire.emit("data", fragment(MB));
    wire.emit("data", Buffer.alloc(70_000));
    clock.move(15_000);
    expect(heard).toEqual([]);
    expect(bodyBudget.held).toBeGreaterThan(70_000);
    wire.emit("data", Buffer.alloc(1000));
    clock.move(15_000);
    await Promise.resolve();
    const [refusal, closing] = heard.filter((one) => one !== "ping");
    expect(JSON.parse(refusal ?? "")).toMatchObject({
      type: "error",
      status: 408,
      error: { code: "request.timeout" },
    });
    expect(closing).toBe("close 1008");
    expect(bodyBudget.held).toBe(0);
    expect(clock.waiting()).toBe(0);
  });

  it("has five minutes for a message in all", async () => {
    const { clock, heard, socket, wire } = connected();
    wire.emit("data", fragment(0xff_ffff));
    for (let at = 0; at < 300; at += 15) {
      expect(heard.filter((one) => one !== "ping")).toEqual([]);
      wire.emit("data", Buffer.alloc(66_000));
      socket.emit("pong");
      clock.move(15_000);
    }
    await Promise.resolve();
    expect(heard.at(-1)).toBe("close 1008");
  });
});
