import { onTestFinished } from "vitest";
import { faultBody } from "../../src/dialects/errors/fault-body.ts";
import { ByteBudget } from "../../src/gateway/http/budget.ts";
import { LOCAL_TENANT } from "../../src/turn/tenant.ts";
import type { Exchange } from "../../src/gateway/http/exchange.ts";
import { RecentTurns } from "../../src/observe/recent-turns.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import { openServer, type Server } from "../../src/host/server/server.ts";

/** Closes a server when the running test has ended. */
export const closeAfterTest = (server: { close(graceMs: number): Promise<unknown> }): void =>
  onTestFinished(async () => void (await server.close(0)));

const found = { route: { method: "POST", path: "/*", serve() {} }, rest: "", params: {} };

/** A gateway that does with each exchange what the test says. */
export function gatewayThat(handle: (exchange: Exchange) => void, bodyLimit = 1_000_000): Gateway {
  return {
    handle,
    admit: (exchange) => ({ exchange, requestId: "req", tenant: LOCAL_TENANT, found }),
    serve: ({ exchange }, body) => handle({ ...exchange, body }),
    socketTenant: () => undefined,
    refuse({ reply }, fault) {
      reply.head(fault.status, { "content-type": "application/json" });
      reply.end(JSON.stringify(faultBody(fault)));
    },
    metricsText: () => "",
    bodyLimit,
    bodyBudget: new ByteBudget(8 * bodyLimit),
    sessionBudget: new ByteBudget(8 * bodyLimit),
    stallMs: 60_000,
    graceMs: 0,
    originPolicy: () => "refused",
    foreignIn: () => undefined,
    fetch: () => Promise.reject(new Error("not asked for")),
    start() {},
    reconfigure() {},
    subscribe: () => () => {},
    running: () => [],
    status: () => Promise.reject(new Error("not asked for")),
    recent: new RecentTurns(),
    priceOf: () => undefined,
    findPlan: () => Promise.resolve(undefined),
    examined() {
      throw new Error("not asked for");
    },
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

export async function serving(
  handle: (exchange: Exchange) => void,
  bodyLimit?: number,
): Promise<Server> {
  const server = await openServer(gatewayThat(handle, bodyLimit), { host: "127.0.0.1", port: 0 });
  closeAfterTest(server);
  return server;
}

/** Says what came. */
export const echo = ({ method, path, query, headers, body, reply }: Exchange): void => {
  reply.head(200, { "content-type": "application/json" });
  reply.end(JSON.stringify({ method, path, query, body, type: headers["content-type"] ?? null }));
};
