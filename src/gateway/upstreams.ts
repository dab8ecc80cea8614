import { demoUpstream } from "../upstreams/demo/demo.ts";
import { httpUpstream, type SignRequest } from "../upstreams/http/http.ts";
import { profileFor } from "../profiles/profiles.ts";
import { proxyFor } from "../upstreams/http/proxy.ts";
import { secretsOf } from "../upstreams/http/secrets.ts";
import { scriptedUpstream } from "../upstreams/scripted/scripted.ts";
import type { UpstreamEntry } from "../dialects/registry.ts";
import { Fault } from "../turn/fault.ts";
import type { Profile } from "../turn/profile.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import { overrideProfile } from "./capabilities.ts";
import {
  type Config,
  type HttpUpstreamConfig,
  isHttpUpstream,
  type UpstreamConfig,
} from "./config.ts";
import type { OpenPlatform } from "./platform.ts";
import type { GatewayState } from "./state.ts";

/**
 * Counts the users of an upstream, which closes when it has none. Turns change `count`
 * themselves, because a call for each turn would cost more than the count.
 */
export class Users {
  count = 0;
  /** Called when the last user has left. */
  waiting: (() => void)[] | undefined;

  /** Adds a user; the returned function removes it, once. */
  enter(): () => void {
    let isIn = true;
    this.count++;
    return () => {
      if (!isIn) return;
      isIn = false;
      this.count--;
      this.left();
    };
  }

  /** Calls `then` when the last user has left, or at once if there is none. */
  whenNone(then: () => void): void {
    if (this.count === 0) then();
    else (this.waiting ??= []).push(then);
  }

  /** A user has left. */
  left(): void {
    if (this.count > 0) return;
    const { waiting } = this;
    this.waiting = undefined;
    for (const then of waiting ?? []) then();
  }
}

const users = new WeakMap<Upstream, Users>();

/** The turns that may still ask an upstream. */
export function usersOf(upstream: Upstream): Users {
  let known = users.get(upstream);
  if (known === undefined) users.set(upstream, (known = new Users()));
  return known;
}

/**
 * The upstreams of a configuration. Unchanged upstreams keep their connections. A turn keeps the
 * configuration that it began with, so a removed or changed upstream closes when the last turn
 * that may ask it has ended, and no earlier request waits.
 */
export function openUpstreams(
  config: Config,
  platform: OpenPlatform,
  before?: GatewayState,
): ReadonlyMap<string, Upstream> {
  const upstreams = new Map(platform.givenUpstreams.map((upstream) => [upstream.name, upstream]));
  for (const [name, wanted] of Object.entries(config.upstreams)) {
    const known = before?.upstreams.get(name);
    const same = JSON.stringify(before?.config.upstreams[name]) === JSON.stringify(wanted);
    upstreams.set(name, known !== undefined && same ? known : openUpstream(name, wanted, platform));
  }
  for (const [name, upstream] of before?.upstreams ?? [])
    if (before !== undefined && upstreams.get(name) !== upstream) retire(upstream, before);
  return upstreams;
}

function retire(upstream: Upstream, { waiting, retired }: GatewayState): void {
  retired.add(upstream);
  const turns = usersOf(upstream);
  waiting.whenNone(turns.enter());
  turns.whenNone(() => {
    void upstream.close().finally(() => retired.delete(upstream));
  });
}

function openUpstream(name: string, config: UpstreamConfig, platform: OpenPlatform): Upstream {
  if (isHttpUpstream(config)) return openHttp(name, config, platform);
  switch (config.dialect) {
    case "scripted": {
      const profile = profileOf(name, config, platform.profiles);
      return config.script === undefined
        ? demoUpstream({ name, profile })
        : scriptedUpstream({ name, profile, script: config.script, ...platform });
    }
    case "codex":
      if (platform.runtime.codex === undefined) throw noProcesses(name);
      return platform.runtime.codex({
        name,
        profile: profileOf(name, config, platform.profiles),
        command: config.command,
        home: config.home,
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
    default:
      return config satisfies never;
  }
}

function openHttp(name: string, config: HttpUpstreamConfig, platform: OpenPlatform): Upstream {
  const { upstreams } = platform.dialects;
  const dialect = upstreams.find((one) => one.name === config.dialect);
  if (dialect === undefined) {
    const names = [...upstreams.map((one) => one.name), "codex"].map((one) => `\`${one}\``);
    throw new Fault(
      "config.invalid",
      `\`upstreams.${name}.dialect\`: \`${config.dialect}\` is not supported; use ${names.join(", ")} or \`scripted\`.`,
    );
  }
  const profile = profileOf(name, config, platform.profiles, dialect);
  return httpUpstream({
    name,
    profile,
    dialect,
    baseUrl: config.base_url,
    apiKey: config.api_key,
    headers: config.headers,
    timeouts: config.timeouts,
    retries: config.retries,
    connections: config.connections,
    proxy: proxyFor(new URL(config.base_url), platform.environment ?? {}),
    newId: platform.newId,
    clock: platform.clock,
    random: platform.random,
    connect: platform.runtime.connect,
    sign: platform.sign?.[name] ?? hostCredentials(config, profile, platform),
  });
}

/** The host's credentials for an upstream without a key, if its profile names some. */
function hostCredentials(
  { api_key: apiKey, headers, base_url }: HttpUpstreamConfig,
  { credentials }: Profile,
  platform: OpenPlatform,
): SignRequest | undefined {
  const hasKey = apiKey !== undefined || secretsOf({ headers }, new URL(base_url)).length > 0;
  if (credentials === undefined || hasKey) return undefined;
  return platform.runtime.credentials?.[credentials](platform);
}

const noProcesses = (name: string): Fault =>
  new Fault(
    "config.invalid",
    `\`upstreams.${name}\`: Codex is a program that the gateway starts, and this runtime starts none. Import \`patchbay\` instead of \`patchbay/core\`, under Node.`,
  );

function profileOf(
  name: string,
  config: UpstreamConfig,
  profiles: OpenPlatform["profiles"],
  dialect?: UpstreamEntry,
): Profile {
  const isDemo =
    !isHttpUpstream(config) && config.dialect === "scripted" && config.script === undefined;
  const wanted = config.profile ?? (isDemo ? "demo" : undefined);
  const profile =
    profileFor(wanted, config.dialect, profiles) ??
    (wanted === undefined ? dialect?.upstream.profile : undefined);
  if (profile !== undefined) return overrideProfile(profile, config.capabilities);
  const known = [...profiles.values()].filter((one) => one.dialect === config.dialect);
  throw new Fault(
    "config.invalid",
    `\`upstreams.${name}\`: there is no profile \`${config.profile ?? config.dialect}\` of the ${config.dialect} dialect; known: ${known.map((one) => one.name).join(", ")}. Leave it out for the generic one.`,
  );
}
