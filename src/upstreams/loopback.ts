/** True if a host name is of this machine and reaches no other. */
export function isLoopback(host: string): boolean {
  const address = host.toLowerCase().replaceAll(/^\[|\]$/g, "");
  if (address === "localhost" || address === "::1" || address === "0:0:0:0:0:0:0:1") return true;
  return /^(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(address);
}
