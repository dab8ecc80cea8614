import { resolve } from "node:path";
import { codexUpstream } from "../upstreams/codex/codex.ts";
import { demoUpstream } from "../upstreams/demo/demo.ts";
import { httpUpstream } from "../upstreams/http/http.ts";
import { profileFor, profiles } from "../profiles/profiles.ts";
import { proxyFor } from "../upstreams/http/proxy.ts";
import { scriptedUpstream } from "../upstreams/scripted/scripted.ts";
import { Fault } from "../turn/fault.ts";
import type { Profile } from "../turn/profile.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import { overrideProfile } from "./capabilities.ts";
import type { Config, UpstreamConfig } from "./config.ts";
import { dialects } from "./dialects.ts";
import type { GatewayState, Platform } from "./state.ts";

/**
 * The upstreams of a configuration. Those that have not changed are taken over
 * with their connections; those that are gone let their turns end and close.
 */
export function openUpstreams(
  config: Config,
  platform: Platform,
  before?: GatewayState,
): ReadonlyMap<string, Upstream> {
  const upstreams = new Map<string, Upstream>();
  for (const [name, wanted] of Object.entries(config.upstreams)) {
    const known = before?.upstreams.get(name);
    const same = JSON.stringify(before?.config.upstreams[name]) === JSON.stringify(wanted);
    upstreams.set(name, known !== undefined && same ? known : openUpstream(name, wanted, platform));
  }
  for (const [name, upstream] of before?.upstreams ?? [])
    if (upstreams.get(name) !== upstream) void upstream.close();
  return upstreams;
}

function openUpstream(name: string, config: UpstreamConfig, platform: Platform): Upstream {
  switch (config.dialect) {
    case "chat":
    case "responses":
      return httpUpstream({
        name,
        profile: profileOf(name, config),
        dialect: dialects[config.dialect],
        baseUrl: config.base_url,
        apiKey: config.api_key,
        headers: config.headers,
        timeouts: config.timeouts,
        retries: config.retries,
        connections: config.connections,
        proxy: proxyFor(new URL(config.base_url), platform.environment ?? {}),
        ...platform,
      });
    case "scripted": {
      const profile = profileOf(name, config);
      return config.script === undefined
        ? demoUpstream({ name, profile })
        : scriptedUpstream({ name, profile, script: config.script, dialects, ...platform });
    }
    case "codex":
      return codexUpstream({
        name,
        profile: profileOf(name, config),
        command: config.command,
        home: resolve(config.home),
        processes: config.processes,
        turnsPerProcess: config.seats,
        queue: config.queue,
        provider: { baseUrl: config.base_url, apiKey: config.api_key },
        models: config.models,
        timeouts: config.timeouts,
        parkMs: config.park_ms,
        parked: config.parked,
        environment: platform.environment ?? {},
        clock: platform.clock,
        random: platform.random,
        notice: (notice) => platform.report({ type: "child", upstream: name, ...notice }),
      });
    case "messages":
      throw new Fault(
        "config.invalid",
        `\`upstreams.${name}.dialect\`: \`${config.dialect}\` is not there yet; use \`chat\`, \`responses\`, \`codex\` or \`scripted\`.`,
      );
    default:
      return config satisfies never;
  }
}

function profileOf(name: string, config: UpstreamConfig): Profile {
  const isDemo = config.dialect === "scripted" && config.script === undefined;
  const profile = profileFor(config.profile ?? (isDemo ? "demo" : undefined), config.dialect);
  if (profile !== undefined) return overrideProfile(profile, config.capabilities);
  const known = [...profiles.values()].filter(({ dialect }) => dialect === config.dialect);
  throw new Fault(
    "config.invalid",
    `\`upstreams.${name}\`: there is no profile \`${config.profile ?? config.dialect}\` of the ${config.dialect} dialect; known: ${known.map((one) => one.name).join(", ")}. Leave it out for the generic one.`,
  );
}
