import type { DoorEntry } from "../../dialects/registry.ts";
import { Fault } from "../../turn/fault.ts";
import { headerOf } from "./admission.ts";
import { serveCompletions } from "./completion-routes.ts";
import type { RequestContext, Route } from "../state.ts";

/** Lists the answers that are kept, where a dialect has such a list, and refuses WebSockets. */
export const listRoute = ({ door, title }: DoorEntry, path: string): Route => {
  const { completions: form } = door;
  if (form === undefined)
    return {
      method: "GET",
      path,
      door,
      refuses: true,
      serve: (context) => refuseSocket(context, title),
    };
  const isUpgrade = ({ exchange }: RequestContext): boolean =>
    headerOf(exchange.headers, "upgrade") !== undefined;
  return {
    method: "GET",
    path,
    door,
    serve: (context) =>
      isUpgrade(context) ? refuseSocket(context, title) : serveCompletions(context, form),
  };
};

/** Codex tries a WebSocket first; 426 is the one answer that makes it use HTTP at once. */
function refuseSocket({ exchange, route: { path } }: RequestContext, title: string): void {
  if (headerOf(exchange.headers, "upgrade") === undefined)
    throw new Fault("request.method", `${path} takes POST, not ${exchange.method}.`, {
      allow: "POST",
    });
  throw new Fault(
    "request.websocket",
    `${title} over WebSocket is not offered here; POST to ${path}.`,
  );
}
