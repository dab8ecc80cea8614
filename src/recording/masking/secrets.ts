/** Takes keys out of texts: those that the gateway knows, and those that look like one. */

import { blotOut } from "./word-mask.ts";

/** Shorter values are in every other word. */
const SHORTEST = 6;

/** The same length, and nothing of a key left in it. */
export type Scrub = (text: string) => string;

/** What well-known services' keys look like; the prefix tells whose. */
const shapes: readonly RegExp[] = [
  /\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}/g,
  /\b(?:gsk|hf|r8|xai|npm|glpat|dop_v1|tvly|pplx|fw|nvapi|csk|sess)[-_][A-Za-z0-9_-]{16,}/g,
  /\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{12,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  // The user info of an address.
  /(?<=\b[a-z][a-z\d+.-]*:\/\/)[^\s/@"'<>]+(?=@)/gi,
  // Keys in the query of an address.
  /(?<=[?&](?:[\w.-]*(?:key|token|secret|sig|signature|password|code)|auth)=)[^&\s"'<>#]+/gi,
];

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
export function scrubber(secrets: readonly string[], patterns = shapes): Scrub {
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
