/** The secrets in the configuration of an HTTP upstream. */

import { append } from "../../turn/append.ts";

type Holding = {
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

/**
 * The values in the query of a base URL, in each form that an echo may have. Some
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

/** True if a header of this name may hold credentials. */
export const isCredential = (name: string): boolean =>
  /key|token|auth|secret|cookie|pass|cred|session|sign/i.test(name);

/** The secrets of an upstream: keys, and headers and parts of the address that are like keys. */
export function secretsOf({ apiKey, headers = {} }: Holding, base: URL): string[] {
  const values = Object.entries(headers).flatMap(([name, value]) =>
    isCredential(name) ? value : [],
  );
  const secrets = values.map((value) => value.replace(/^\w+ (?=\S)/, ""));
  append(secrets, values.flatMap(basicSecrets));
  if (apiKey) secrets.push(apiKey);
  append(secrets, querySecrets(base));
  // Very short secrets are in many words.
  return secrets.filter((secret) => secret.length >= 4);
}

/** User and password of a header, and the password alone. */
function basicSecrets(header: string): string[] {
  const [, encoded] = /^basic\s+([\w+/=-]+)$/i.exec(header) ?? [];
  try {
    const pair = encoded === undefined ? "" : atob(encoded);
    return pair.includes(":") ? [pair, pair.slice(pair.indexOf(":") + 1)] : [];
  } catch {
    return []; // It is not base64.
  }
}

/** Shorter forms of a secret are in many words. */
const SHORTEST_FORM = 6;

/** The forms that a secret may have in a text, escaped and encoded. */
export function formsOf(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret);
  const escaped = JSON.stringify(secret).slice(1, -1);
  // `encodeURIComponent` throws for half a character.
  const percent = encodeURIComponent(secret.toWellFormed());
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const forms = [
    secret,
    escaped,
    JSON.stringify(escaped).slice(1, -1),
    escaped.replaceAll("/", "\\/"),
    percent,
    percent.replaceAll(/%[0-9A-F]{2}/g, (one) => one.toLowerCase()),
    percent.replaceAll("%20", "+"),
    secret.replaceAll(" ", "+"),
    hex,
    hex.toUpperCase(),
    ...[0, 1, 2].flatMap((shift) => base64Within(bytes, shift)),
  ];
  return [...new Set(forms)].filter((one) => one.length >= SHORTEST_FORM);
}

/** The part of a secret's base64 that does not depend on the text around it, at one of three offsets. */
function base64Within(bytes: Uint8Array, shift: number): string[] {
  let binary = "\0".repeat(shift);
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const text = btoa(binary).replaceAll("=", "");
  const first = shift === 0 ? 0 : shift + 1;
  const whole = text.length - (binary.length % 3 === 0 ? 0 : 1);
  const inner = text.slice(first, whole);
  return [inner, inner.replaceAll("+", "-").replaceAll("/", "_")];
}
