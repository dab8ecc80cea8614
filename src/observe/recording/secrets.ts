/** Takes keys out of texts: known keys, and words in the shape of a key. */

import { keyShapes } from "../../turn/failure-reason.ts";
import { formsOf } from "../../upstreams/http/secrets.ts";
import { blotOut } from "./text-mask.ts";

/** Shorter values are parts of common words. */
const SHORTEST = 6;

/** Returns a text of the same length without keys. */
export type Scrub = (text: string) => string;

/** `patterns`: the shapes of unknown keys. */
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

/** Values of a configuration, or of variables, that are secret by their names. */
export function secretsIn(value: unknown, name = ""): string[] {
  if (typeof value === "string") {
    const inAddress = addressSecrets(value);
    return SECRET_NAME.test(name) ? [value.replace(/^\w+ (?=\S)/, ""), ...inAddress] : inAddress;
  }
  if (Array.isArray(value)) return value.flatMap((one) => secretsIn(one, name));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    // An entry of a list of keys has its name beside its key.
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
