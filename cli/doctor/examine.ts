/** The checks that depend on the environment of the process that runs the gateway. */

import { createHash, randomBytes } from "node:crypto";
import { accessSync, constants, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { Gateway } from "../../src/serving.ts";
import { type Clock, proxyFor } from "../../src/inspection.ts";
import {
  type Config,
  findingLine,
  keysIn,
  keysText,
  loadConfig,
  LONGEST,
  type ConfigOrigin,
  providers,
  readConfigFile,
} from "../../src/configuration.ts";
import type { Check, Examination, CheckOutcome } from "../../src/observe/console/wire-checks.ts";
import { type Environment, readTextFile } from "../../src/terminal.ts";
import { check, type CheckId, wordsOfFinding, type Words } from "./check.ts";
import { examineUpstream, modelChecks } from "./upstreams.ts";

export type Examined = ReturnType<Gateway["examined"]>;

export type ExamineOptions = {
  readonly origin: ConfigOrigin;
  /** Undefined if the configuration is too wrong for a gateway. */
  readonly examined?: Examined | undefined;
  /** True if the gateway serves, so that its file may have changed since it was read. */
  readonly isRunning: boolean;
  readonly clock: Clock;
};

export async function examine(options: ExamineOptions): Promise<Examination> {
  const { origin, examined, isRunning, clock } = options;
  const configuration = examineConfig(origin, isRunning ? examined?.config : undefined);
  const states = await Promise.all(
    Array.from(examined?.upstreams ?? [], async ([name, upstream]) => ({
      name,
      ...(await examineUpstream(upstream, examined?.dialects.upstreams ?? [])),
    })),
  );
  const usable = new Set(states.flatMap(({ name, isUsable }) => (isUsable ? [name] : [])));
  const dates = new Map(states.map(({ name, date = "" }) => [name, date]));
  const config = examined?.config ?? configuration.config;
  return {
    file: configuration.file,
    variables: digestVariables(origin.env, configuration.variables),
    checks: [
      ...configuration.checks,
      ...states.flatMap(({ checks }) => checks),
      ...(examined === undefined ? [] : await modelChecks({ ...examined, usable })),
      ...machineChecks({ env: origin.env, config, dates, now: clock.date() }),
    ],
  };
}

type ConfigState = {
  readonly checks: readonly Check[];
  readonly file: string | undefined;
  /** The variables of the environment that the file refers to. */
  readonly variables: ReadonlySet<string>;
  /** Undefined if it has problems. */
  readonly config: Config | undefined;
};

/** `running`: the configuration that a gateway applies; undefined without a gateway. */
export function examineConfig(origin: ConfigOrigin, running?: Config): ConfigState {
  const loaded = loadConfig(origin);
  const { file } = loaded;
  const config = loaded.ok ? loaded.config : undefined;
  const subject = file ?? "the environment";
  const findings = [...(loaded.ok ? [] : loaded.findings), ...loaded.doubts];
  const text = file === undefined ? undefined : configText(file);
  const source =
    file === undefined || text === undefined ? undefined : readConfigFile(text, file, () => "");
  const about =
    file === undefined
      ? "no file: the keys in the environment are the configuration"
      : "the file has no problems";
  const keys = loaded.ok ? keysText(loaded.keys) : "";
  const said = (id: CheckId, of: string, outcome: CheckOutcome, line: string): Check =>
    check(id, of, outcome, ...wordsOfFinding(line));
  const checks = [
    ...findings.map((one) =>
      said("configuration.problem", one.path || subject, "wrong", findingLine(one)),
    ),
    ...loaded.passedOver.map((one) =>
      said("configuration.untrusted", one.file ?? subject, "note", findingLine(one)),
    ),
    ...loaded.notes.map((note) => said("configuration.note", subject, "note", note)),
    ...(findings.length > 0
      ? []
      : [check("configuration.valid", subject, "ok", keys === "" ? about : `${about} (${keys})`)]),
    ...(running === undefined || file === undefined ? [] : [appliedCheck(file, config, running)]),
    ...(file === undefined || source === undefined ? [] : permissionChecks(file, source)),
  ];
  return { checks, file, variables: source?.variables ?? new Set(), config };
}

/** A gateway keeps its configuration if a changed file is wrong, or cannot be applied at once. */
function appliedCheck(file: string, config: Config | undefined, running: Config): Check {
  const applied = (...words: Words): Check => check("configuration.taken_up", file, ...words);
  if (config === undefined)
    return applied(
      "wrong",
      "the gateway still uses an earlier version of the file",
      "Correct the file; the gateway then applies it.",
    );
  // With port 0 in the file, the system has chosen the port.
  const textOf = ({ server, ...rest }: Config): string =>
    JSON.stringify([{ ...server, port: 0 }, rest]);
  if (textOf(config) === textOf(running)) return applied("ok", "the gateway uses this file");
  return applied(
    "note",
    "the file differs from the configuration that the gateway uses",
    "Wait a moment for the gateway to apply it. Some changes need a restart of the gateway.",
  );
}

function configText(file: string): string | undefined {
  try {
    return readTextFile(file, { limit: LONGEST });
  } catch {
    return undefined; // The loader has reported the reason, or it is a pipe and was read.
  }
}

/** The permission bits of the group and of everybody. */
const READABLE = 0o044;
const WRITABLE = 0o022;

type Source = ReturnType<typeof readConfigFile>;

function permissionChecks(file: string, source: Source): Check[] {
  // Windows has no such bits, and Node makes some up.
  if (process.platform === "win32") return [];
  const { mode } = statSync(file);
  const wrong = (evidence: string, remedy: string): Check[] => [
    check("configuration.permissions", file, "wrong", evidence, remedy),
  ];
  const octal = (mode & 0o777).toString(8);
  if ((mode & WRITABLE) !== 0)
    return wrong(
      `other users of this machine can change it (mode ${octal}), and redirect requests with keys`,
      `chmod go-w ${file}`,
    );
  const keys = keysIn(source.value)
    .filter(([path]) => !source.refers(path))
    .map(([path]) => path.join("."));
  if ((mode & READABLE) === 0 || keys.length === 0) return [];
  return wrong(
    `it contains ${keys.join(", ")}, and other users of this machine can read it (mode ${octal})`,
    `chmod 600 ${file}`,
  );
}

export type MachineState = {
  readonly env: Environment;
  readonly config: Config | undefined;
  /** The `date` headers of upstreams, by their names. */
  readonly dates: ReadonlyMap<string, string>;
  readonly now: number;
};

export const machineChecks = (state: MachineState): readonly Check[] => [
  check("machine.node", "Node", "ok", `${process.versions.node} on ${process.platform}`),
  ...clockChecks(state),
  ...certificateChecks(state.env),
  ...proxyChecks(state),
  ...diskChecks(state.config),
];

/** Beyond this, certificates, signatures and one-time keys fail. */
const MOST_SKEW_MS = 300_000;

/** Believes the upstream that differs least, since another one may have a wrong clock. */
function clockChecks({ dates, now }: MachineState): Check[] {
  const [least] = [...dates]
    .map(([name, date]) => ({ name, skew: Date.parse(date) - now }))
    .filter(({ skew }) => Number.isFinite(skew))
    .toSorted((a, b) => Math.abs(a.skew) - Math.abs(b.skew));
  if (least === undefined) return [];
  const { name, skew } = least;
  const seconds = Math.round(Math.abs(skew) / 1000);
  if (Math.abs(skew) <= MOST_SKEW_MS)
    return [check("machine.clock", "clock", "ok", `within ${seconds} s of \`${name}\``)];
  const evidence = `${seconds} s ${skew > 0 ? "behind" : "ahead of"} \`${name}\``;
  const remedy =
    "Set the clock of this machine, preferably by NTP: certificates and signatures depend on it.";
  return [check("machine.clock", "clock", "wrong", evidence, remedy)];
}

function* certificateChecks(env: Environment): Generator<Check> {
  const id = "machine.certificates";
  const { NODE_TLS_REJECT_UNAUTHORIZED: rejects, NODE_EXTRA_CA_CERTS: file = "" } = env;
  if (rejects === "0")
    yield check(
      id,
      "NODE_TLS_REJECT_UNAUTHORIZED",
      "wrong",
      "is 0: certificates are not checked, so an attacker on the network can read keys and answers",
      "Unset it, and name your certificate authority in NODE_EXTRA_CA_CERTS.",
    );
  if (file !== "" && !isReadable(file))
    yield check(
      id,
      "NODE_EXTRA_CA_CERTS",
      "wrong",
      `names ${file}, which cannot be read; Node ignores it`,
      "Correct the path or its permissions, and restart the gateway.",
    );
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Names a proxy by its host alone: its address may hold a password. */
function proxyChecks({ env, config }: MachineState): Check[] {
  const named = Object.entries(config?.upstreams ?? {}).flatMap(([name, upstream]) => {
    const base = "base_url" in upstream ? URL.parse(upstream.base_url ?? "") : null;
    const proxy = base === null ? undefined : proxyFor(base, env);
    return proxy === undefined ? [] : [{ name, host: proxy.host }];
  });
  const remedy = "To bypass the proxy, name their hosts in NO_PROXY.";
  return Array.from(
    Map.groupBy(named, ({ host }) => host),
    ([host, group]) => {
      const names = group.map(({ name }) => name).join(", ");
      const evidence = `${names} ${group.length === 1 ? "is" : "are"} reached through this proxy, which the environment names`;
      return check("machine.proxy", host, "note", evidence, remedy);
    },
  );
}

const LEAST_FREE = 100 * 1024 * 1024;

function diskChecks(config: Config | undefined): Check[] {
  if (config?.store.kind !== "sqlite") return [];
  const { path } = config.store;
  const free = freeBytes(path);
  if (free === undefined) return [];
  const evidence = `${Math.floor(free / (1024 * 1024))} MB are free in the folder of stored answers`;
  const id = "machine.disk";
  return free >= LEAST_FREE
    ? [check(id, path, "ok", evidence)]
    : [
        check(
          id,
          path,
          "wrong",
          evidence,
          "Free disk space, or name another file in `store.path`.",
        ),
      ];
}

function freeBytes(path: string): number | undefined {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    try {
      const { bavail, bsize } = statfsSync(folder);
      return bavail * bsize;
    } catch {
      if (folder === dirname(folder)) return undefined;
    }
  }
}

/** Names and digests of variables, by which the environment of a gateway is compared with that of a shell. */
type VariableDigests = Examination["variables"];

const proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];
const certificates = ["NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED"];

/** `asked`: the variables that the configuration refers to. */
export function digestVariables(env: Environment, asked: Iterable<string>): VariableDigests {
  const salt = randomBytes(16).toString("hex");
  const keys = Object.values(providers).flatMap((provider): readonly string[] => provider.env);
  const both = proxies.flatMap((name) => [name, name.toLowerCase()]);
  const others = [...both, ...certificates, "GOOGLE_APPLICATION_CREDENTIALS"];
  const names = [...new Set([...asked, ...keys, ...others])];
  return {
    salt,
    digests: Object.fromEntries(names.map((name) => [name, digest(salt, env[name] ?? "")])),
  };
}

/** Empty for a variable that is not set. */
const digest = (salt: string, value: string): string =>
  value === "" ? "" : createHash("sha256").update(`${salt}\0${value}`).digest("hex");

/** Compares the environment that a gateway was started with and that of this shell. */
export function environmentChecks(
  { salt, digests }: VariableDigests,
  shell: Environment,
): readonly Check[] {
  const differing = Object.entries(digests).filter(
    ([name, there]) => digest(salt, shell[name] ?? "") !== there,
  );
  const kindOf = ([name, there]: readonly [string, string]): number =>
    there === "" ? 0 : (shell[name] ?? "") === "" ? 1 : 2;
  const parts = [
    "set here and not for the gateway",
    "set for the gateway and not here",
    "set to another value here",
  ].flatMap((kind, at) => {
    const names = differing.filter((one) => kindOf(one) === at).map(([name]) => name);
    return names.length === 0 ? [] : [`${names.join(", ")} ${kind}`];
  });
  const about = ["gateway.environment", "environment"] as const;
  if (parts.length === 0)
    return [check(...about, "ok", "the gateway and this shell have the same variables")];
  const remedy =
    "The checks of upstreams use the environment of the gateway. To use the one of this shell, restart the gateway from here.";
  return [check(...about, "note", parts.join("; "), remedy)];
}
