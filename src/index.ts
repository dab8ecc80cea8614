import { parseConfig, type ConfigInput } from "./gateway/config.ts";
import type { Gateway } from "./gateway/gateway.ts";
import type { Platform } from "./gateway/platform.ts";
import { nodePlatform } from "./host/platform/node.ts";
import { openRecorded } from "./host/server/turn-files.ts";

export { parseConfig } from "./gateway/config.ts";
export type { Config, ConfigInput } from "./gateway/config.ts";
export type { Exchange, Reply } from "./gateway/http/exchange.ts";
export type { Extensions, ProfileExtension } from "./gateway/platform.ts";
export type { Gateway } from "./gateway/gateway.ts";
export type { Runtime } from "./gateway/platform.ts";
export type { Platform } from "./gateway/platform.ts";
export type { MakeTurnStage, TurnStage } from "./gateway/run/turn-stage.ts";
export type { Dialect, DoorDialect, UpstreamDialect } from "./dialects/dialect.ts";
export type { Happening } from "./observe/happening.ts";
export type { Clock, NewId } from "./turn/clock.ts";
export type { DialectTraits } from "./turn/dialect-traits.ts";
export type { TurnEvent } from "./turn/event.ts";
export { Fault } from "./turn/fault.ts";
export type { FaultCode } from "./turn/fault.ts";
export { clientName, upstreamName } from "./turn/names.ts";
export type { ClientName, UpstreamName } from "./turn/names.ts";
export type { Profile } from "./turn/profile.ts";
export type { Turn } from "./turn/turn.ts";
export { defineUpstream } from "./upstreams/define.ts";
export type { AnswerContext, UpstreamDefinition } from "./upstreams/define.ts";
export type { SignRequest, UnsignedRequest } from "./upstreams/http/http.ts";
export type { Upstream } from "./upstreams/upstream.ts";

/**
 * A gateway to embed: `createGateway({ upstreams: { ... } }).fetch(request)`.
 * It listens nowhere by itself. Throws a Fault that lists every problem of the
 * configuration.
 */
export function createGateway(config: ConfigInput = {}, platform: Partial<Platform> = {}): Gateway {
  return openRecorded(parseConfig(config, platform), { ...nodePlatform(), ...platform });
}
