import { print, printJson } from "../../src/terminal.ts";
import { exitCode, noGatewayAt } from "../output.ts";
import { type Readiness, readinessOf, rootOf } from "../remote.ts";
import type { With } from "../options.ts";

/** `patchbay health`: the readiness of a gateway as an exit code, for images without a shell. */
export async function health({
  url,
  timeout,
  json = false,
}: With<"url" | "timeout">): Promise<void> {
  const address = rootOf(url);
  const remote = { url: address, key: undefined, timeoutMs: timeout * 1000 };
  const found = await readinessOf(remote);
  const { isReady = false, body } = found ?? {};
  process.exitCode =
    found === undefined ? exitCode.nobody : isReady ? exitCode.well : exitCode.wrong;
  if (json) printJson({ url: address, ready: isReady, ...body });
  else print(found === undefined ? noGatewayAt(address) : readinessLines(address, found));
}

const readinessLines = (address: string, { isReady, upstreams }: Readiness): string[] => [
  `${address} is ${isReady ? "ready" : "not ready"}`,
  ...Object.entries(upstreams).map(([name, state]) => `  ${name}: ${String(state)}`),
];
