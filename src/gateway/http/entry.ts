/** Admits requests by their heads, and serves them when their bodies have arrived. */

import type { DoorDialect } from "../../dialects/dialect.ts";
import { faultBodyText } from "../../dialects/errors/fault-body.ts";
import { Fault, type FaultCode } from "../../turn/fault.ts";
import { LOCAL_TENANT, type Tenant } from "../../turn/tenant.ts";
import { authorize, withoutKey, requestIdOf } from "./admission.ts";
import type { Exchange, Reply } from "./exchange.ts";
import { doorAt, findRoute } from "./route-table.ts";
import type { GatewayState, RequestContext } from "../state.ts";
import { toFault } from "./to-fault.ts";
import { type ByteBudget, requestMemory } from "./budget.ts";

/** An admitted request; its body may still be arriving. */
export type Admitted = {
  readonly exchange: Exchange;
  readonly requestId: string;
  readonly tenant: Tenant;
  readonly found: ReturnType<typeof findRoute>;
};

export type Entry = {
  /** Admits a request by its head; undefined: it was refused and answered. */
  readonly admit: (exchange: Exchange) => Admitted | undefined;
  /** Serves an admitted request. Never throws. */
  readonly serve: (admitted: Admitted, body: string) => void;
  readonly refuse: (exchange: Exchange, error: unknown, requestId?: string) => void;
};

/** A gateway as it is now: a new configuration replaces its state. */
export type LiveGateway = {
  state: GatewayState;
  isStopping: boolean;
  /** Bounds the bytes of all arriving bodies. */
  readonly bodyBudget: ByteBudget;
};

export function openEntry(live: LiveGateway): Entry {
  function refuse(exchange: Exchange, error: unknown, id = requestIdFor(live, exchange)): void {
    const { report, routes, clock } = live.state;
    const fault = toFault(error, report, id);
    const date = clock.date();
    const { status, code, detail } = fault;
    const route = exchange.path.slice(0, 200);
    const refusal = { requestId: id, route, status, fault: code, param: detail.param };
    report({ type: "refusal", at: date, ...refusal });
    const door = doorAt(routes, exchange);
    sendFault(exchange.reply, fault, { requestId: id, door, date });
  }

  return {
    refuse,
    admit(asked) {
      const at = live.state;
      const exchange = withoutKey(asked);
      const requestId = requestIdFor(live, exchange);
      try {
        const found = findRoute(at.routes, exchange.method, exchange.path);
        if (live.isStopping && found.route.always !== true) throw closing();
        const tenant = found.route.open === true ? LOCAL_TENANT : authorize(asked, at.keys);
        return { exchange, requestId, tenant, found };
      } catch (error) {
        refuse(exchange, error, requestId);
        return undefined;
      }
    },
    serve({ exchange: head, requestId, tenant, found }, body) {
      const at = live.state;
      const { route } = found;
      const whole = body === head.body ? head : { ...head, body };
      const exchange =
        at.recorder === undefined || route.door === undefined
          ? whole
          : (at.recorder.begin({ exchange: whole, requestId, tenant, config: at.config })
              ?.exchange ?? whole);
      const refused = (error: unknown): void => refuse(exchange, error, requestId);
      const started = at.clock.now();
      const memory = at.memory.open(tenant);
      try {
        if (live.isStopping && route.always !== true) throw closing();
        // Holds the reply and not the exchange: a turn must not keep the body in memory.
        const { reply } = exchange;
        const turnAway: RequestContext["refuse"] = (fault, headers) =>
          sendFault(reply, fault, { requestId, door: route.door, date: at.clock.date(), headers });
        const { counts } = at.config.server;
        if (body !== "") memory.take(requestMemory(body, at.random, counts.values));
        const { query } = exchange;
        const params = query === "" ? found.params : { ...found.params, "?": query };
        const context = {
          route,
          params,
          state: at,
          exchange,
          requestId,
          tenant,
          memory,
          refuse: turnAway,
        };
        const serving = route.serve(context);
        if (serving === undefined) return memory.served();
        const leave = at.waiting.enter();
        void serving.catch(refused).finally(() => {
          leave();
          memory.served();
        });
      } catch (error) {
        memory.release();
        refused(error);
      } finally {
        at.watch("request", requestId, at.clock.now() - started);
      }
    },
  };
}

const closing = (): Fault =>
  new Fault(
    "gateway.stopping",
    "The gateway is shutting down; send the request to another gateway.",
  );

type Refused = {
  readonly requestId: string;
  /** The dialect of the error; left out: that of the OpenAI API. */
  readonly door?: DoorDialect | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds since the epoch. */
  readonly date: number;
};

/** Headers that name a remedy. */
const remedies: { readonly [Code in FaultCode]?: Readonly<Record<string, string>> } = {
  "request.websocket": { upgrade: "HTTP/1.1" },
};

function sendFault(reply: Reply, fault: Fault, { requestId, door, headers, date }: Refused): void {
  const { retryAfter, allow, acceptEncoding, rateLimits } = fault.detail;
  const {
    requestIdHeader = "x-request-id",
    writeError = faultBodyText,
    rateLimitHeaders,
  } = door ?? {};
  const head = {
    "x-request-id": requestId,
    [requestIdHeader]: requestId,
    ...headers,
    "content-type": "application/json; charset=utf-8",
    // The official client libraries follow this header; without it they follow the status.
    "x-should-retry": String(fault.mayRetry),
    // Left out if a retry is useless: some clients retry whenever they see it.
    ...(retryAfter !== undefined && fault.mayRetry && { "retry-after": retryAfter }),
    ...(rateLimits !== undefined && rateLimitHeaders?.(rateLimits, date)),
    ...(allow !== undefined && { allow }),
    ...(acceptEncoding !== undefined && { "accept-encoding": acceptEncoding }),
    ...remedies[fault.code],
  };
  if (reply.refuse !== undefined) return reply.refuse(fault, head);
  reply.head(fault.status, head);
  reply.end(writeError(fault, requestId));
}

const requestIdFor = ({ state }: LiveGateway, exchange: Exchange): string =>
  requestIdOf(exchange.headers) ?? state.newId("req");
