/** The secrets in the configuration of an HTTP upstream. */

import { append } from "../../turn/append.ts";

type Holding = {
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

/**
 * The values in the query of a base URL, however an echo may escape them. Some
 * providers take their key there, under any name; versions are no secrets.
 */
function querySecrets({ search, searchParams }: URL): string[] {
  const written = search.slice(1).split("&");
  const names = [...searchParams.keys()];
  const secret = [...searchParams.values()].filter((_, at) => !/version/i.test(names[at] ?? ""));
  const raw = written
    .filter((pair) => !/^[^=]*version/i.test(pair))
    .map((pair) => pair.slice(pair.indexOf("=") + 1));
  return [...new Set([...secret, ...raw, ...secret.map(encodeURIComponent)])];
}

/** Whether a header of this name is like a key. */
export const isCredential = (name: string): boolean =>
  /key|token|auth|secret|cookie|pass|cred|session|sign/i.test(name);

/** What no message may hold: keys, and the headers and parts of the address that are like keys. */
export function secretsOf({ apiKey, headers = {} }: Holding, base: URL): string[] {
  const secrets = Object.entries(headers)
    .filter(([name]) => isCredential(name))
    .map(([, value]) => value.replace(/^\w+ (?=\S)/, ""));
  if (apiKey) secrets.push(apiKey);
  append(secrets, querySecrets(base));
  // A very short one is in every other word.
  return secrets.filter((secret) => secret.length >= 4);
}
