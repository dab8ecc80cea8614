import { statusSchema, type Batch } from "../../src/observe/console/wire.ts";
import type { Environment } from "../../src/host/config/env.ts";
import { askGateway } from "../../src/host/control/client.ts";
import { findGateways } from "../../src/host/control/gateways.ts";
import { batchSince } from "../../src/host/control/watch.ts";

/** What has arrived at a gateway since it was first looked at; undefined where that cannot be known. */
export type Arrivals = () => Promise<Pick<Batch, "turns" | "lost"> | undefined>;

/** Looks at a gateway by its private socket; one elsewhere has none that could be reached. */
export async function watchArrivals(url: string, env: Environment): Promise<Arrivals> {
  const gateway = (await findGateways(env)).find((one) => one.url === url);
  if (gateway === undefined) return () => Promise.resolve(undefined);
  const before = await Promise.all(
    gateway.sockets.map(async (socket) => {
      const { turns } = await askGateway(socket, statusSchema, { path: "/status" });
      return { socket, turns };
    }),
  );
  return async () => {
    const batches = await Promise.all(before.map(({ socket, turns }) => batchSince(socket, turns)));
    if (batches.includes(undefined)) return undefined;
    return {
      turns: batches.flatMap((batch) => batch?.turns ?? []),
      lost: batches.reduce((sum, batch) => sum + (batch?.lost ?? 0), 0),
    };
  };
}
