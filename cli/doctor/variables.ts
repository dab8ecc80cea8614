/** Compares the environment of a gateway with that of the shell that asks, by names and digests alone. */

import { createHash, randomBytes } from "node:crypto";
import type { Environment } from "../../src/host/config/env.ts";
import { providers } from "../../src/host/config/providers.ts";
import type { Check, Examination } from "../../src/observe/console/wire-checks.ts";

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
