/** Which pages in browsers may ask the gateway. */

import type { Config } from "../config.ts";
import { isLoopback } from "../../upstreams/loopback.ts";

/**
 * How a browser's page stands to the gateway. `welcome`: it may ask and read
 * the answers. `unread`: it may not read them, which browsers see to, and needs
 * a key to ask. `refused`: there are no keys, so that any page that somebody
 * opens could ask, if need be under a name that it turns to this machine.
 */
export type OriginPolicy = "welcome" | "unread" | "refused";

/** Programs of this machine whose pages have an origin of their own. */
const programs: ReadonlySet<string> = new Set(["app://obsidian.md"]);

export function originPolicyOf(origin: string, { origins, keys }: Config["server"]): OriginPolicy {
  const asked = origin.toLowerCase();
  if (origins.includes("*") || origins.includes(asked) || isOwn(asked)) return "welcome";
  return keys.length > 0 ? "unread" : "refused";
}

/**
 * The name that a request was sent to, if a page from elsewhere might have it. A
 * page may turn its own name to this machine and then asks as if it were from
 * here: only the name tells. Nobody can have an address, a name without a dot or
 * one of those that are set apart for local use.
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
