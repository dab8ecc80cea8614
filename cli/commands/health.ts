import { type Fields, fieldsIn, fieldsOf, print, printJson } from "../../src/terminal.ts";
import { rootOf } from "../gateways.ts";
import { exitCode } from "../output.ts";
import type { With } from "../options.ts";

/** `patchbay health`: whether a gateway is ready, as an exit code, for images without a shell. */
export async function health({
  url,
  timeout,
  json = false,
}: With<"url" | "timeout">): Promise<void> {
  const address = rootOf(url);
  const { code, body } = await ask(`${address}/readyz`, timeout);
  process.exitCode = code;
  if (json) printJson({ url: address, ready: code === exitCode.well, ...body });
  else print(linesOf(address, code, body));
}

async function ask(
  url: string,
  seconds: number,
): Promise<{ readonly code: number; readonly body: Fields }> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(seconds * 1000) });
    const body = fieldsIn(await response.text());
    // Without `upstreams` the answer is another server's.
    if (body === undefined || fieldsOf(body.upstreams) === undefined)
      return { code: response.ok ? exitCode.nobody : exitCode.wrong, body: {} };
    return { code: response.ok ? exitCode.well : exitCode.wrong, body };
  } catch {
    return { code: exitCode.nobody, body: {} };
  }
}

function linesOf(address: string, code: number, { upstreams }: Fields): string[] {
  if (code === exitCode.nobody)
    return [`no gateway answers at ${address}; start it: patchbay serve`];
  const states = Object.entries(fieldsOf(upstreams) ?? {});
  return [
    `${address} is ${code === exitCode.well ? "ready" : "not ready"}`,
    ...states.map(([name, state]) => `  ${name}: ${String(state)}`),
  ];
}
