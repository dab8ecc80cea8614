import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from "fastify";
import type { ServerResponse } from "node:http";
import type { Admitted } from "../../gateway/http/entry.ts";
import type { Exchange } from "../../gateway/http/exchange.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { Fault } from "../../turn/fault.ts";
import { LOCAL_TENANT } from "../../turn/tenant.ts";
import { systemClock } from "../platform/clock.ts";
import { collectBody } from "./body-intake.ts";
import { exchangeOf } from "./node.ts";

export type PatchbayOptions = {
  readonly gateway: Gateway;
  /** The paths that lead to the gateway; default: its routes. */
  readonly paths?: readonly string[] | undefined;
};

const ownPaths = ["/v1/*", "/healthz", "/livez", "/readyz", "/metrics"];

/**
 * The gateway inside a Fastify app: `app.register(patchbay, { gateway })`, with an optional
 * `prefix`. Its parsing of bodies and its errors change nothing in the rest of the app.
 */
export const patchbay: FastifyPluginCallback<PatchbayOptions> = (app, options, done) => {
  const { gateway, paths = ownPaths } = options;
  const admittedOf = new WeakMap<FastifyRequest, Admitted>();
  const prefixLength = app.prefix === "/" ? 0 : app.prefix.length;
  // Fastify would close the connection after a body that failed: a client that still sends would
  // be reset before it reads the answer.
  const takeOver = ({ raw }: FastifyRequest, reply: FastifyReply): Exchange => {
    reply.hijack();
    return exchangeOf(raw, withHeaders(reply), "", { prefixLength });
  };
  app.removeAllContentTypeParsers();
  // The limit is read each time: a new configuration may change it.
  app.addContentTypeParser("*", (request, payload, parsed) => {
    const { bodyLimit: limit, bodyBudget: budget } = gateway;
    const tenant = admittedOf.get(request)?.tenant ?? LOCAL_TENANT;
    collectBody(payload, { limit, budget, tenant }, systemClock, parsed);
  });
  // A request that is not admitted is refused before its body is read.
  app.addHook("onRequest", (request, reply, next) => {
    const admitted = gateway.admit(
      exchangeOf(request.raw, withHeaders(reply), "", { prefixLength }),
    );
    if (admitted === undefined) reply.hijack();
    else {
      admittedOf.set(request, admitted);
      next();
    }
  });
  app.setErrorHandler((error, request, reply) => {
    const fault = error instanceof Fault ? error : faultOf(error);
    // The handler of the app answers the errors of its hooks.
    if (fault === undefined) throw error;
    gateway.refuse(takeOver(request, reply), fault);
  });
  const handler = (request: FastifyRequest, reply: FastifyReply): void => {
    const { body } = request;
    const exchange = takeOver(request, reply);
    const admitted = admittedOf.get(request);
    if (admitted !== undefined)
      gateway.serve({ ...admitted, exchange }, typeof body === "string" ? body : "");
  };
  for (const url of paths)
    app.route({ method: app.supportedMethods, url, handler, exposeHeadRoute: false });
  done();
};

/** Adds the headers that hooks of the app have set, such as those for other origins. */
function withHeaders(reply: FastifyReply): ServerResponse {
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined && name !== "connection") reply.raw.setHeader(name, value);
  return reply.raw;
}

/** The refusal of a body by Fastify, as a Fault. */
function faultOf(error: unknown): Fault | undefined {
  const { code, statusCode = 500 } = error as { code?: unknown; statusCode?: number };
  if (typeof code !== "string" || !code.startsWith("FST_ERR_CTP_")) return undefined;
  if (statusCode === 415)
    return new Fault(
      "request.content_type",
      "The content type is invalid; send `content-type: application/json`.",
    );
  return statusCode < 500
    ? new Fault("request.invalid", "The request cannot be read; check its headers.", {}, error)
    : new Fault("gateway.internal", "The request could not be read.", {}, error);
}
