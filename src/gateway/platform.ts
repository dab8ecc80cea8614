import { dialectRegistry, type DialectRegistry } from "../dialects/registry.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { extendProfile } from "../profiles/extend.ts";
import { profiles as builtinProfiles } from "../profiles/profiles.ts";
import { Fault } from "../turn/fault.ts";
import type { Difference, Profile } from "../turn/profile.ts";
import type { SignRequest } from "../upstreams/http/http.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import type { CodexOptions } from "../upstreams/codex/codex.ts";
import type { Connect } from "../upstreams/http/transport.ts";
import type { LogOptions } from "../history/sql-log.ts";
import type { DatabaseConfig } from "../history/sql-log.ts";
import type { Log } from "../history/log.ts";
import { capabilitiesSchema } from "./capabilities.ts";
import { schemaProblems } from "./config-problems.ts";
import type { Clock, NewId } from "../turn/clock.ts";
import type { Report } from "../observe/happening.ts";
import type { Recorder } from "./http/exchange.ts";
import type { MakeTurnStage } from "./run/turn-stage.ts";
import type { Decompressors } from "./http/body.ts";

/** Extensions by a user of the library. */
export type Extensions = {
  /** More dialects; a dialect of a known name replaces the built-in one. */
  readonly dialects?: readonly Dialect[] | undefined;
  /** More profiles for the `profile` of an upstream. */
  readonly profiles?: readonly (Profile | ProfileExtension)[] | undefined;
  /** More upstreams, addressed as `name/model`. They are closed with the gateway. */
  readonly upstreams?: readonly Upstream[] | undefined;
  /** Signs the requests to an HTTP upstream, by its name in the configuration. */
  readonly sign?: Readonly<Record<string, SignRequest>> | undefined;
  /** Stages of every turn, between the restored answer and the gateway's rules for calls. */
  readonly stages?: readonly MakeTurnStage[] | undefined;
};

/** Services of the host. Tests have their own. */
export type Platform = Extensions & {
  readonly clock: Clock;
  readonly newId: NewId;
  readonly random: () => number;
  readonly report: Report;
  readonly runtime: Runtime;
  /** Records turns, where the host can keep them. */
  readonly recorder?: Recorder | undefined;
  /** The metrics of all processes that share the port; undefined while they do not arrive. */
  readonly sumMetrics?: (() => Promise<string | undefined>) | undefined;
  /** The environment, for child processes and proxies. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
};

/** A profile as its differences from another profile. */
export type ProfileExtension = Difference &
  Pick<Profile, "name" | "provider" | "models"> & { readonly extends: string };

/** A platform whose extensions are registered. */
export type OpenPlatform = Omit<Platform, "dialects" | "profiles" | "upstreams"> & {
  readonly dialects: DialectRegistry;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly givenUpstreams: readonly Upstream[];
};

/** Registers the extensions of a platform. Throws a Fault if a profile is wrong. */
export function openPlatform({ dialects, profiles, upstreams, ...rest }: Platform): OpenPlatform {
  const registry = dialectRegistry(dialects);
  return {
    ...rest,
    dialects: registry,
    profiles: profileRegistry(profiles ?? [], registry),
    givenUpstreams: upstreams ?? [],
  };
}

/** All profiles by name; a later profile replaces an earlier one of the same name. */
function profileRegistry(
  more: NonNullable<Extensions["profiles"]>,
  { upstreams }: DialectRegistry,
): ReadonlyMap<string, Profile> {
  const known = new Map(builtinProfiles);
  for (const { upstream } of upstreams)
    if (upstream.profile !== undefined) known.set(upstream.profile.name, upstream.profile);
  for (const profile of more)
    known.set(profile.name, "extends" in profile ? extended(profile, known) : profile);
  return known;
}

function extended(
  { extends: parent, name, provider, ...difference }: ProfileExtension,
  known: ReadonlyMap<string, Profile>,
): Profile {
  const problems = schemaProblems(difference, capabilitiesSchema).map(
    ({ path, message }) => `${path.join(".")}: ${message}`,
  );
  const base = known.get(parent);
  if (base === undefined)
    problems.unshift(
      `extends: there is no profile \`${parent}\`; known: ${[...known.keys()].join(", ")}`,
    );
  if (base !== undefined && problems.length === 0)
    return extendProfile(base, { name, provider, ...difference });
  throw new Fault(
    "config.invalid",
    `The profile \`${name}\` has problems:\n${problems.join("\n")}`,
  );
}

/** Finds credentials on the host; the result adds them to a request. */
export type OpenCredentials = (platform: Pick<Platform, "clock" | "environment">) => SignRequest;

/** Services that differ between Node, Bun, Deno and workers. */
export type Runtime = {
  /** 32 bytes. Synchronous, because a key is checked before the body of its request is read. */
  readonly sha256: (text: string) => Uint8Array;
  /** Decoders of request bodies, by `content-encoding`. */
  readonly decompressors: Decompressors;
  /** The largest size of the heap, if it is known. */
  readonly heapBytes?: number | undefined;
  /** Connects to an HTTP upstream. */
  readonly connect: Connect;
  /** Runs Codex; undefined if the runtime starts no processes. */
  readonly codex?: ((options: CodexOptions) => Upstream) | undefined;
  /** Opens the credentials that a profile may name, where the runtime has files. */
  readonly credentials?: Readonly<Record<NonNullable<Profile["credentials"]>, OpenCredentials>>;
  /** Opens a store in a database; undefined if the runtime has neither files nor sockets. */
  readonly openStore?: ((config: DatabaseConfig, options: LogOptions) => Log) | undefined;
};
