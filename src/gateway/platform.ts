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
import type { StoreOptions } from "../history/database-store.ts";
import type { DatabaseConfig } from "../history/open-database.ts";
import type { Store } from "../history/store.ts";
import { capabilitiesSchema } from "./capabilities.ts";
import { schemaProblems } from "./config-problems.ts";
import type { Clock, NewId } from "../turn/clock.ts";
import type { Report } from "../observe/happening.ts";
import type { Recorder } from "./http/exchange.ts";
import type { MakeTurnStage } from "./run/turn-stage.ts";
import type { Decompressors } from "./http/body.ts";

/** What a user of the library adds to what is built in. */
export type Extensions = {
  /** What clients and HTTP upstreams may speak too; one of a name that is taken replaces the other. */
  readonly dialects?: readonly Dialect[] | undefined;
  /** What configuration may name as the `profile` of an upstream. */
  readonly profiles?: readonly (Profile | ProfileExtension)[] | undefined;
  /** Model backends, addressed as `name/model` like those of the configuration. They are closed with the gateway. */
  readonly upstreams?: readonly Upstream[] | undefined;
  /** Who signs the requests to an HTTP upstream, by its name in the configuration. */
  readonly sign?: Readonly<Record<string, SignRequest>> | undefined;
  /** Stages of every turn, between the restored answer and the gateway's rules for calls. */
  readonly stages?: readonly MakeTurnStage[] | undefined;
};

/** What the host gives the gateway. Tests give their own. */
export type Platform = Extensions & {
  readonly clock: Clock;
  readonly newId: NewId;
  readonly random: () => number;
  readonly report: Report;
  readonly runtime: Runtime;
  /** Records turns, where the host can keep them. */
  readonly recorder?: Recorder | undefined;
  /** The metrics of all processes that share the port; undefined while they cannot be had. */
  readonly sumMetrics?: (() => Promise<string | undefined>) | undefined;
  /** What a child process may be given of, and which proxies there are; never read anywhere else. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
};

/** A profile as data: what it says otherwise than another, built in or given before it. */
export type ProfileExtension = Difference &
  Pick<Profile, "name" | "provider" | "models"> & { readonly extends: string };

/** A platform with its extensions taken in. */
export type OpenPlatform = Omit<Platform, "dialects" | "profiles" | "upstreams"> & {
  readonly dialects: DialectRegistry;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly givenUpstreams: readonly Upstream[];
};

/** Takes the extensions of a platform in. Throws a Fault where a profile is wrong. */
export function openPlatform({ dialects, profiles, upstreams, ...rest }: Platform): OpenPlatform {
  const registry = dialectRegistry(dialects);
  return {
    ...rest,
    dialects: registry,
    profiles: profileRegistry(profiles ?? [], registry),
    givenUpstreams: upstreams ?? [],
  };
}

/** All profiles by name; one of a name that is taken replaces the other. */
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

/** What Node, Bun, Deno and workers each do in their own way. */
export type Runtime = {
  /** 32 bytes. At once: a key is checked before its request is taken in. */
  readonly sha256: (text: string) => Uint8Array;
  /** The `content-encoding`s of request bodies that can be undone. */
  readonly decompressors: Decompressors;
  /** How large its heap may become, where that can be known. */
  readonly heapBytes?: number | undefined;
  /** Opens the way to an HTTP upstream. */
  readonly connect: Connect;
  /** Runs Codex; not given where no process can be started. */
  readonly codex?: ((options: CodexOptions) => Upstream) | undefined;
  /** Opens a store in a database; not given where there are neither files nor sockets. */
  readonly openStore?: ((config: DatabaseConfig, options: StoreOptions) => Store) | undefined;
};
