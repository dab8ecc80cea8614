import { Fault } from "../../turn/fault.ts";
import { isLoopback } from "../loopback.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Protocols of proxies that undici supports. */
const supported = new Set(["http:", "https:", "socks:", "socks5:"]);

/**
 * The proxy for an address, by the variables that most programs read. Addresses of
 * this machine have no proxy.
 */
export function proxyFor(address: URL, environment: Environment): URL | undefined {
  const named = namedFor(address, environment);
  if (named === undefined || named.proxy !== undefined) return named?.proxy;
  throw new Fault("config.invalid", `${unspoken(named.name)}.`);
}

/** The problem of the variable that names the proxy. */
export function proxyProblem(address: URL, environment: Environment): string | undefined {
  const named = namedFor(address, environment);
  return named === undefined || named.proxy !== undefined ? undefined : unspoken(named.name);
}

const unspoken = (name: string): string =>
  `environment variable ${name} names no proxy; write http://host:port, or unset it`;

/** The variable for an address, and its proxy if the value is valid. */
function namedFor(
  address: URL,
  environment: Environment,
): { readonly name: string; readonly proxy: URL | undefined } | undefined {
  const names = [address.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY", "ALL_PROXY"];
  const name = names.find((one) => variable(one, environment) !== "");
  if (name === undefined || isLoopback(address.hostname)) return undefined;
  if (isExempt(address, variable("NO_PROXY", environment))) return undefined;
  const value = variable(name, environment);
  const proxy = URL.parse(value.includes("://") ? value : `http://${value}`);
  return { name, proxy: proxy !== null && supported.has(proxy.protocol) ? proxy : undefined };
}

/** A variable in small letters or capitals; the small one is older, and wins. */
const variable = (name: string, environment: Environment): string =>
  (environment[name.toLowerCase()] || environment[name] || "").trim();

/** True if a list matches an address: `*`, domains with their subdomains and addresses, each with an optional port. */
function isExempt({ protocol, hostname, port }: URL, list: string): boolean {
  const ownPort = port || (protocol === "https:" ? "443" : "80");
  const host = hostname.toLowerCase();
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      const [, name = "", only] = /^(?:\*?\.)?(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [];
      if (entry === "*") return true;
      if (name === "" || (only !== undefined && only !== ownPort)) return false;
      return host === name || host.endsWith(`.${name}`);
    });
}
