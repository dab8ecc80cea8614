/** All checks that go by the environment of the process that runs the gateway. */
import { accessSync, constants, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { createHash, randomBytes } from "node:crypto";
import type { Gateway } from "../../src/serving.ts";
import { type Clock, proxyFor } from "../../src/inspection.ts";
import { type Config, type Origin, providers } from "../../src/configuration.ts";
import type { Check, Examination } from "../../src/observe/console/wire-checks.ts";
import type { Environment } from "../../src/terminal.ts";
import { examineConfig } from "./configuration.ts";
import { examineUpstream, modelChecks } from "./upstreams.ts";

/** What a gateway shows of itself to whoever examines it. */
export type Examined = ReturnType<Gateway["examined"]>;

export type ExamineOptions = {
  readonly origin: Origin;
  /** None where the configuration is too wrong for a gateway. */
  readonly examined?: Examined | undefined;
  /** Whether it runs by itself, so that its file may have changed since. */
  readonly isRunning: boolean;
  readonly clock: Clock;
};

export async function examine(options: ExamineOptions): Promise<Examination> {
  const { origin, examined, isRunning, clock } = options;
  const configuration = examineConfig(origin, isRunning ? examined?.config : undefined);
  const states =
    examined === undefined
      ? []
      : await Promise.all(
          Array.from(examined.upstreams, async ([name, upstream]) => ({
            name,
            state: await examineUpstream(upstream, examined.dialects.upstreams),
          })),
        );
  const usable = new Set(states.flatMap(({ name, state }) => (state.isUsable ? [name] : [])));
  const dates = new Map(states.map(({ name, state }) => [name, state.date ?? ""]));
  const config = examined?.config ?? configuration.config;
  return {
    file: configuration.file,
    variables: digestVariables(origin.env, configuration.variables),
    checks: [
      ...configuration.checks,
      ...states.flatMap(({ state }) => state.checks),
      ...(examined === undefined ? [] : await modelChecks({ ...examined, usable })),
      ...machineChecks({ env: origin.env, config, dates, now: clock.date() }),
    ],
  };
}

/** What of the machine and of a process's environment keeps a gateway from working well. */
export type MachineState = {
  readonly env: Environment;
  readonly config: Config | undefined;
  /** What upstreams said the time is, by their names. */
  readonly dates: ReadonlyMap<string, string>;
  readonly now: number;
};

export function machineChecks(state: MachineState): readonly Check[] {
  return [
    {
      group: "machine",
      id: "machine.node",
      subject: "Node",
      outcome: "ok",
      evidence: `${process.versions.node} on ${process.platform}`,
    },
    ...clockCheck(state),
    ...certificateChecks(state.env),
    ...proxyChecks(state),
    ...storeChecks(state.config),
  ];
}

/** Beyond this certificates, signatures and one-time keys fail. */
const MOST_SKEW_MS = 300_000;

/** One upstream may have a wrong clock; the one that differs least is believed. */
function clockCheck({ dates, now }: MachineState): Check[] {
  const skews = [...dates]
    .map(([name, date]) => ({ name, skew: Date.parse(date) - now }))
    .filter(({ skew }) => Number.isFinite(skew))
    .toSorted((a, b) => Math.abs(a.skew) - Math.abs(b.skew));
  const [least] = skews;
  if (least === undefined) return [];
  const { name, skew } = least;
  const seconds = Math.round(Math.abs(skew) / 1000);
  if (Math.abs(skew) <= MOST_SKEW_MS)
    return [
      {
        group: "machine",
        id: "machine.clock",
        subject: "clock",
        outcome: "ok",
        evidence: `within ${seconds} s of \`${name}\``,
      },
    ];
  return [
    {
      group: "machine",
      id: "machine.clock",
      subject: "clock",
      outcome: "wrong",
      evidence: `${seconds} s ${skew > 0 ? "behind" : "ahead of"} \`${name}\``,
      remedy: "Set the clock of this machine, best by NTP: certificates and signatures go by it.",
    },
  ];
}

function certificateChecks(env: Environment): Check[] {
  const checks: Check[] = [];
  if (env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0")
    checks.push({
      group: "machine",
      id: "machine.certificates",
      subject: "NODE_TLS_REJECT_UNAUTHORIZED",
      outcome: "wrong",
      evidence: "is 0: anybody on the way can read keys and answers",
      remedy: "Unset it, and name your own authority in NODE_EXTRA_CA_CERTS.",
    });
  const file = env["NODE_EXTRA_CA_CERTS"] ?? "";
  if (file !== "" && !isReadable(file))
    checks.push({
      group: "machine",
      id: "machine.certificates",
      subject: "NODE_EXTRA_CA_CERTS",
      outcome: "wrong",
      evidence: `names ${file}, which cannot be read; Node goes on without it`,
      remedy: "Correct the path or its permissions, and restart the gateway.",
    });
  return checks;
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** By the host alone: the address of a proxy may hold a password. */
function proxyChecks({ env, config }: MachineState): Check[] {
  const through = new Map<string, string[]>();
  for (const [name, upstream] of Object.entries(config?.upstreams ?? {})) {
    const base = "base_url" in upstream ? URL.parse(upstream.base_url ?? "") : null;
    const proxy = base === null ? undefined : proxyFor(base, env);
    if (proxy !== undefined) through.set(proxy.host, [...(through.get(proxy.host) ?? []), name]);
  }
  return Array.from(through, ([host, names]): Check => ({
    group: "machine",
    id: "machine.proxy",
    subject: host,
    outcome: "note",
    evidence: `${names.join(", ")} ${names.length === 1 ? "is" : "are"} reached by this proxy, named in the environment`,
    remedy: "If that is not meant, name their hosts in NO_PROXY.",
  }));
}

const LEAST_FREE = 100 * 1024 * 1024;

function storeChecks(config: Config | undefined): Check[] {
  if (config?.store.kind !== "sqlite") return [];
  const { path } = config.store;
  const free = freeBytes(path);
  if (free === undefined) return [];
  const text = `${Math.floor(free / (1024 * 1024))} MB are free where past answers are kept`;
  if (free >= LEAST_FREE)
    return [{ group: "machine", id: "machine.disk", subject: path, outcome: "ok", evidence: text }];
  return [
    {
      group: "machine",
      id: "machine.disk",
      subject: path,
      outcome: "wrong",
      evidence: text,
      remedy: "Make room, or name another place in `store.path`.",
    },
  ];
}

/** Of the nearest folder that there is. */
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

/** Compares the environment of a gateway with that of the shell that asks, by names and digests alone. */
type VariableDigests = Examination["variables"];

const others = [
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((name) => [
    name,
    name.toLowerCase(),
  ]),
  "NODE_EXTRA_CA_CERTS",
  "NODE_TLS_REJECT_UNAUTHORIZED",
];

/** `asked`: the variables that the configuration asks for. */
export function digestVariables(env: Environment, asked: Iterable<string>): VariableDigests {
  const salt = randomBytes(16).toString("hex");
  const keys = Object.values(providers).flatMap((provider): readonly string[] => provider.env);
  const names = [...new Set([...asked, ...keys, ...others])];
  return {
    salt,
    digests: Object.fromEntries(names.map((name) => [name, digest(salt, env[name] ?? "")])),
  };
}

/** Nothing for a variable that is not set. */
const digest = (salt: string, value: string): string =>
  value === "" ? "" : createHash("sha256").update(`${salt}\0${value}`).digest("hex");

/** Where a gateway was started with something else than this shell has. */
export function environmentChecks(
  { salt, digests }: VariableDigests,
  shell: Environment,
): readonly Check[] {
  const missing: string[] = [];
  const extra: string[] = [];
  const different: string[] = [];
  for (const [name, there] of Object.entries(digests)) {
    const here = digest(salt, shell[name] ?? "");
    if (here === there) continue;
    if (there === "") missing.push(name);
    else if (here === "") extra.push(name);
    else different.push(name);
  }
  const parts = [
    ...(missing.length > 0 ? [`${missing.join(", ")} set here and not for the gateway`] : []),
    ...(extra.length > 0 ? [`${extra.join(", ")} set for the gateway and not here`] : []),
    ...(different.length > 0 ? [`${different.join(", ")} set to something else here`] : []),
  ];
  const check = { group: "gateway", id: "gateway.environment", subject: "environment" } as const;
  if (parts.length === 0)
    return [{ ...check, outcome: "ok", evidence: "the gateway's is like this shell's" }];
  return [
    {
      ...check,
      outcome: "note",
      evidence: parts.join("; "),
      remedy:
        "What is said of upstreams holds for the gateway's environment. To have it take up this shell's, restart it from here.",
    },
  ];
}
