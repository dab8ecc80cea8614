/** Takes keys out of texts: those that the gateway knows, and those that look like one. */

import { keyShapes } from "../../turn/failure-reason.ts";
import { formsOf } from "../../upstreams/http/secrets.ts";
import { blotOut } from "./text-mask.ts";

/** Shorter values are in every other word. */
const SHORTEST = 6;

/** The same length, and nothing of a key left in it. */
export type Scrub = (text: string) => string;

/** `patterns`: what keys look like that nobody knows. */
export function scrubber(secrets: readonly string[], patterns = keyShapes): Scrub {
  const variants = secrets
    .filter((secret) => secret.length >= SHORTEST)
    .flatMap(formsOf)
    .toSorted((a, b) => b.length - a.length);
  return (text) => {
    let scrubbed = text;
    for (const variant of variants)
      if (scrubbed.includes(variant)) scrubbed = scrubbed.replaceAll(variant, blotOut(variant));
    for (const shape of patterns) scrubbed = scrubbed.replaceAll(shape, (found) => blotOut(found));
    return scrubbed;
  };
}

const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie|session|signature|dsn/i;

/** Values in a configuration, or among variables, that are secret by where they stand. */
export function secretsIn(value: unknown, name = ""): string[] {
  if (typeof value === "string") {
    const inAddress = addressSecrets(value);
    return SECRET_NAME.test(name) ? [value.replace(/^\w+ (?=\S)/, ""), ...inAddress] : inAddress;
  }
  if (Array.isArray(value)) return value.flatMap((one) => secretsIn(one, name));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    // A list of named keys has the names beside them.
    secretsIn(inner, key === "name" ? "" : SECRET_NAME.test(name) ? name : key),
  );
}

function addressSecrets(text: string): string[] {
  const url = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) return [];
  const queried = [...url.searchParams].flatMap(([name, value]) =>
    /version/i.test(name) ? [] : [value],
  );
  const plain = url.password.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return [url.password, plain, ...queried].filter((one) => one !== "");
}
