import type { Config } from "./config.ts";
import { isLoopback } from "../upstreams/loopback.ts";

/**
 * How a browser's page stands to the gateway. `welcome`: it may ask and read
 * the answers. `unread`: it may not read them, which browsers see to, and needs
 * a key to ask. `refused`: there are no keys, so that any page that somebody
 * opens could ask, if need be under a name that it turns to this machine.
 */
export type Standing = "welcome" | "unread" | "refused";

/** Programs of this machine whose pages have an origin of their own. */
const programs: ReadonlySet<string> = new Set(["app://obsidian.md"]);

export function standingOf(origin: string, { origins, keys }: Config["server"]): Standing {
  const asked = origin.toLowerCase();
  if (origins.includes("*") || origins.includes(asked) || isOwn(asked)) return "welcome";
  return keys.length > 0 ? "unread" : "refused";
}

function isOwn(origin: string): boolean {
  if (programs.has(origin)) return true;
  const { hostname } = URL.parse(origin) ?? { hostname: "" };
  return isLoopback(hostname) || hostname.endsWith(".localhost");
}
