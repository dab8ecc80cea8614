/** What is wrong with listening there, if anything: an open gateway must not leave the machine. */
export function bindProblem(host: string, keys: readonly string[]): string | undefined {
  if (keys.length > 0 || isLoopback(host)) return undefined;
  return `listening on ${host} without a key would let anyone who reaches it use your upstreams; set \`server.keys\` or PATCHBAY_API_KEY, or listen on 127.0.0.1`;
}

/** Whether only this machine can reach the address. */
function isLoopback(host: string): boolean {
  const address = host.toLowerCase().replaceAll(/^\[|\]$/g, "");
  if (address === "localhost" || address === "::1" || address === "0:0:0:0:0:0:0:1") return true;
  return /^(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(address);
}
