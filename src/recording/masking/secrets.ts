/** Takes keys out of texts: those that the gateway knows, and those that look like one. */

import { keyShapes } from "../../turn/failure-reason.ts";
import { blotOut } from "./word-mask.ts";

/** Shorter values are in every other word. */
const SHORTEST = 6;

/** The same length, and nothing of a key left in it. */
export type Scrub = (text: string) => string;

/** Every way in which a value may stand in a text. */
export function variantsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const escaped = JSON.stringify(secret).slice(1, -1);
  const percent = encodeURIComponent(secret);
  const variants = [
    secret,
    escaped,
    JSON.stringify(escaped).slice(1, -1),
    percent,
    percent.replaceAll(/%[0-9A-F]{2}/g, (one) => one.toLowerCase()),
    percent.replaceAll("%20", "+"),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
    ...[0, 1, 2].flatMap((shift) => base64Within(bytes, shift)),
  ];
  return [...new Set(variants)].filter((one) => one.length >= SHORTEST);
}

/** What of a value's base64 does not depend on what stands around it, at one of three places. */
function base64Within(bytes: Buffer, shift: number): string[] {
  const text = Buffer.concat([Buffer.alloc(shift), bytes])
    .toString("base64")
    .replaceAll("=", "");
  const first = shift === 0 ? 0 : shift + 1;
  const whole = text.length - ((bytes.length + shift) % 3 === 0 ? 0 : 1);
  const inner = text.slice(first, whole);
  return [inner, inner.replaceAll("+", "-").replaceAll("/", "_")];
}

/** `patterns`: what keys look like that nobody knows. */
export function scrubber(secrets: readonly string[], patterns = keyShapes): Scrub {
  const variants = secrets
    .filter((secret) => secret.length >= SHORTEST)
    .flatMap(variantsOf)
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
