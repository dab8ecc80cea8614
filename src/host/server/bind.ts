import { isLoopback } from "../../upstreams/loopback.ts";

/** What is wrong with listening there, if anything: an open gateway must not leave the machine. */
export function bindProblem(host: string, keys: readonly unknown[]): string | undefined {
  if (keys.length > 0 || isLoopback(host)) return undefined;
  return `listening on ${host} without a key would let anyone who reaches it use your upstreams; set \`server.keys\` or PATCHBAY_API_KEY, or listen on 127.0.0.1`;
}
