import type { Gateway } from "../gateway/gateway.ts";
import { version } from "../upstreams/version.ts";
import { sendConsoleJson, type ConsoleRoute } from "./route.ts";
import type { Status } from "./wire.ts";

/** What the host knows of the process that runs the gateway. */
export type ProcessDetails = Pick<Status, "pid" | "url" | "startedAt" | "files">;

/** What operators can ask of a running gateway. It holds no content and no secrets. */
export type Console = { readonly routes: readonly ConsoleRoute[] };

export function openConsole(gateway: Pick<Gateway, "status">, details: ProcessDetails): Console {
  const status = async (): Promise<Status> => {
    const { upstreams, models, store, ...others } = await gateway.status();
    return {
      object: "status",
      version,
      ...details,
      upstreams: [...upstreams],
      models: Object.fromEntries(Object.entries(models).map(([name, to]) => [name, [...to]])),
      store,
      ...others,
    };
  };
  return {
    routes: [
      {
        method: "GET",
        path: "/status",
        serve: async ({ exchange }) => sendConsoleJson(exchange, 200, await status()),
      },
    ],
  };
}
