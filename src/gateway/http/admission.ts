import { Fault } from "../../turn/fault.ts";
import { LOCAL_TENANT, type Tenant } from "../../turn/tenant.ts";
import { isLoopback } from "../../upstreams/loopback.ts";
import type { ServerKey } from "../config-problems.ts";
import type { Config } from "../config.ts";
import type { Exchange } from "./exchange.ts";

type Sha256 = (text: string) => Uint8Array;

/** A key that opens the gateway. Digests have one length, so comparing them tells nothing of the key. */
type KnownKey = { readonly tenant: Tenant; readonly digest: Uint8Array };

/** The keys that open a gateway, and what they are compared by. */
export type Keyring = { readonly keys: readonly KnownKey[]; readonly sha256: Sha256 };

/** The keys of a configuration with their tenants. A bare key names its tenant by its digest, never by itself. */
export const keyring = (keys: readonly ServerKey[], sha256: Sha256): Keyring => ({
  sha256,
  keys: keys.map((entry) => {
    if (typeof entry !== "string") return { tenant: entry.name, digest: sha256(entry.key) };
    const digest = sha256(entry);
    return { tenant: `key-${hex(digest.subarray(0, 6))}`, digest };
  }),
});

export const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Looks at every byte, wherever the first difference is. */
function isSameDigest(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let at = 0; at < a.length; at++) difference |= (a[at] ?? 0) ^ (b[at] ?? 0);
  return difference === 0;
}

/** Clients made for Azure send the second, and clients made for Gemini the third. */
const keyHeaders = ["x-api-key", "api-key", "x-goog-api-key"];

/** The parameter of the query in which some clients made for Gemini send their key. */
const KEY_PARAM = "key";

/** Removes a key from the query, so that no route and no recording sees it. */
export function withoutKey(exchange: Exchange): Exchange {
  if (!exchange.query.includes(KEY_PARAM)) return exchange;
  const query = new URLSearchParams(exchange.query);
  query.delete(KEY_PARAM);
  return { ...exchange, query: query.toString() };
}

/**
 * Finds the tenant of a request by its key, which any of the headers may carry. No other code
 * compares keys. Without keys any client of this machine may enter, but not a page whose own host
 * name leads to this machine (DNS rebinding).
 */
export function authorize(
  { headers, foreign, query = "" }: Pick<Exchange, "headers" | "foreign"> & { query?: string },
  { keys, sha256 }: Keyring,
): Tenant {
  if (keys.length === 0 && foreign !== undefined) throw foreignName(foreign);
  if (keys.length === 0) return LOCAL_TENANT;
  const shown = [
    bearer(headerOf(headers, "authorization")),
    ...keyHeaders.map((name) => headerOf(headers, name)),
    query.includes(KEY_PARAM) ? (new URLSearchParams(query).get(KEY_PARAM) ?? "") : "",
  ].filter((key) => key !== undefined && key !== "");
  if (shown.length === 0)
    throw new Fault(
      "auth.missing",
      "This gateway needs a key: send `Authorization: Bearer KEY` or `x-api-key: KEY`.",
    );
  // Every shown key is compared with every known one: how long it takes depends on neither.
  let tenant: Tenant | undefined;
  for (const key of shown) {
    const digest = sha256(key ?? "");
    for (const known of keys) if (isSameDigest(digest, known.digest)) tenant ??= known.tenant;
  }
  if (tenant !== undefined) return tenant;
  throw new Fault(
    "auth.wrong",
    "This gateway does not know the key; send one of its `server.keys`, or PATCHBAY_API_KEY if that is set.",
  );
}

const foreignName = (name: string): Fault =>
  new Fault(
    "auth.origin",
    `This gateway has no keys, and \`${name.slice(0, 100)}\` is not a name of this machine; set \`server.keys\`, name \`https://${name.slice(0, 100)}\` in \`server.origins\`, or ask for 127.0.0.1.`,
  );

export function headerOf(headers: Exchange["headers"], name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : value?.[0];
}

const bearer = (value: string | undefined): string | undefined =>
  /^bearer\s+(.+)$/i.exec(value ?? "")?.[1]?.trim();

/** A page may send any content type but JSON to another origin without a preflight request. */
export function requireJson(headers: Exchange["headers"]): void {
  const type = headerOf(headers, "content-type") ?? "";
  if (/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) return;
  throw new Fault(
    "request.content_type",
    `The content type is ${type === "" ? "missing" : `\`${type.slice(0, 80)}\``}; send \`content-type: application/json\`.`,
  );
}

/** The caller's id for the request, if it is one that can be shown in a header and a log. */
export function requestIdOf(headers: Exchange["headers"]): string | undefined {
  const id = headerOf(headers, "x-request-id");
  return id !== undefined && /^[\x21-\x7e]{1,128}$/.test(id) ? id : undefined;
}

/**
 * Access of a page in a browser. `welcome`: it may send requests and read the answers. `unread`:
 * the browser hides the answers from it, and it needs a key. `refused`: there are no keys, so any
 * page that a user opens could use the gateway.
 */
export type OriginPolicy = "welcome" | "unread" | "refused";

/** Origins of programs on this machine. */
const programs: ReadonlySet<string> = new Set(["app://obsidian.md"]);

export function originPolicyOf(origin: string, { origins, keys }: Config["server"]): OriginPolicy {
  const asked = origin.toLowerCase();
  if (origins.includes("*") || origins.includes(asked) || isOwn(asked)) return "welcome";
  return keys.length > 0 ? "unread" : "refused";
}

/**
 * The host name of a request, if a page from elsewhere might have it (DNS rebinding): any name
 * but an address, a name without a dot and the names reserved for local use.
 */
export function foreignHostOf(
  host: string,
  { origins, keys }: Config["server"],
): string | undefined {
  if (keys.length > 0 || OWN_NAME.test(host) || origins.includes("*")) return undefined;
  const { hostname } = URL.parse(`http://${host}`) ?? { hostname: host };
  const isNamed = origins.some((origin) => URL.parse(origin)?.hostname === hostname);
  return isNamed ? undefined : hostname;
}

const OWN_NAME =
  /^(?:[\w-]*|(?:\d{1,3}\.){3}\d{1,3}|\[[\da-f:.]+\]|[\w.-]+\.(?:localhost|local|internal|test|home\.arpa))\.?(?::\d*)?$/i;

function isOwn(origin: string): boolean {
  if (programs.has(origin)) return true;
  const { hostname } = URL.parse(origin) ?? { hostname: "" };
  return isLoopback(hostname) || hostname.endsWith(".localhost");
}
