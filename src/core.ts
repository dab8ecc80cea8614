import { parseConfig, type Config, type ConfigInput } from "./gateway/config.ts";
import { openGateway, type Gateway } from "./gateway/gateway.ts";
import type { Platform } from "./gateway/platform.ts";
import { webPlatform } from "./host/platform/web.ts";
import { Fault } from "./turn/fault.ts";

export { parseConfig } from "./gateway/config.ts";
export { webRuntime } from "./host/platform/web.ts";
export { clientName, upstreamName } from "./turn/names.ts";
export { defineUpstream } from "./upstreams/define.ts";
export { Fault } from "./turn/fault.ts";
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
export type { FaultCode } from "./turn/fault.ts";
export type { ClientName, UpstreamName } from "./turn/names.ts";
export type { Profile } from "./turn/profile.ts";
export type { Turn } from "./turn/turn.ts";
export type { AnswerContext, UpstreamDefinition } from "./upstreams/define.ts";
export type { Upstream } from "./upstreams/upstream.ts";

/**
 * The gateway for runtimes other than Node: Bun, Deno, workers. It reaches no
 * Node built-in; upstreams are asked with `fetch`. Codex, proxies and log files
 * are Node's alone, and a configuration that names them is refused.
 */
export function createGateway(config: ConfigInput = {}, platform: Partial<Platform> = {}): Gateway {
  const parsed = parseConfig(config, platform);
  refuseFiles(parsed);
  return openGateway(parsed, { ...webPlatform(), ...platform });
}

function refuseFiles({ telemetry: { usage_log, event_log, recording } }: Config): void {
  const isRecorded = recording !== "off";
  const named = { usage_log, event_log, recording: isRecorded ? recording : undefined };
  for (const [setting, path] of Object.entries(named))
    if (path !== undefined)
      throw new Fault(
        "config.invalid",
        `\`telemetry.${setting}\` is kept in files, and there are none here. Leave it out and give a \`report\`, or import \`patchbay\` instead of \`patchbay/core\`, under Node.`,
      );
}
