import { Fault } from "../../turn/fault.ts";
import { isLoopback } from "../loopback.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What undici knows to speak with a proxy. */
const spoken = new Set(["http:", "https:", "socks:", "socks5:"]);

/**
 * The proxy on the way to an address, by the variables that most programs go
 * by. What runs on this machine is never asked for through another.
 */
export function proxyFor(address: URL, environment: Environment): URL | undefined {
  const named = namedFor(address, environment);
  if (named === undefined || named.proxy !== undefined) return named?.proxy;
  throw new Fault("config.invalid", `${unspoken(named.name)}.`);
}

/** What is wrong with the variable that names it, if anything. */
export function proxyProblem(address: URL, environment: Environment): string | undefined {
  const named = namedFor(address, environment);
  return named === undefined || named.proxy !== undefined ? undefined : unspoken(named.name);
}

const unspoken = (name: string): string =>
  `environment variable ${name} names no proxy; write http://host:port, or unset it`;

/** Which variable counts, and the proxy it names if that is one. */
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
  return { name, proxy: proxy !== null && spoken.has(proxy.protocol) ? proxy : undefined };
}

/** Either way of writing it; the small one is the older, and wins. */
const variable = (name: string, environment: Environment): string =>
  (environment[name.toLowerCase()] || environment[name] || "").trim();

/** `*`, names with all that ends in them, and addresses; each with a port if need be. */
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
