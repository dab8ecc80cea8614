import type { DialectName } from "./turn.ts";

/** Where each dialect takes its requests, below the base URL of whoever speaks it. */
export const routes = {
  chat: "/chat/completions",
  responses: "/responses",
  messages: "/messages",
} as const satisfies { readonly [D in DialectName]?: string };

/** The same here, where the base URL ends in `/v1`. */
export const doors = {
  chat: `/v1${routes.chat}`,
  responses: `/v1${routes.responses}`,
  messages: `/v1${routes.messages}`,
} as const satisfies Record<keyof typeof routes, string>;

const hasRoute = (dialect: DialectName): dialect is keyof typeof routes => dialect in routes;

export const routeOf = (dialect: DialectName): string =>
  hasRoute(dialect) ? routes[dialect] : `/${dialect}`;

export const doorOf = (dialect: DialectName): string =>
  hasRoute(dialect) ? doors[dialect] : dialect;
