/** How commands open a gateway and its server. */

export { openGateway, type Gateway } from "./gateway/gateway.ts";
export { operate } from "./host/control/operate.ts";
export { systemClock } from "./host/platform/clock.ts";
export { newId } from "./host/platform/ids.ts";
export { nodePlatform, nodeRuntime } from "./host/platform/node.ts";
export { sharedPort, urlOf, type Address } from "./host/server/address.ts";
export { openLog, type Logger } from "./host/server/log.ts";
export { openServer, type Server } from "./host/server/server.ts";
export { openRecorded, type RecordedGateway } from "./host/server/turn-files.ts";
export type { ConsoleRoutes } from "./observe/console/console.ts";
export { sumMetrics } from "./observe/registry.ts";
