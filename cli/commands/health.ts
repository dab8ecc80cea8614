import { type Fields, fieldsIn, fieldsOf, print, printJson } from "../../src/terminal.ts";

export type HealthOptions = {
  readonly url: string;
  readonly timeout: number;
  readonly json?: boolean | undefined;
};

/** Exit codes: ready, not ready, nobody there. */
const READY = 0;
const UNREADY = 1;
const NOBODY = 3;

/** `patchbay health`: whether a gateway is ready, as an exit code, for images without a shell. */
export async function health({ url, timeout, json = false }: HealthOptions): Promise<void> {
  const address = url.replace(/\/+(?:v1\/*)?$/, "");
  const { code, body } = await ask(`${address}/readyz`, timeout);
  process.exitCode = code;
  if (json) printJson({ url: address, ready: code === READY, ...body });
  else print(linesOf(address, code, body));
}

async function ask(
  url: string,
  seconds: number,
): Promise<{ readonly code: number; readonly body: Fields }> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(seconds * 1000) });
    const body = fieldsIn(await response.text());
    // Whatever else listens there is not this gateway.
    if (body === undefined || fieldsOf(body.upstreams) === undefined)
      return { code: response.ok ? NOBODY : UNREADY, body: {} };
    return { code: response.ok ? READY : UNREADY, body };
  } catch {
    return { code: NOBODY, body: {} };
  }
}

function linesOf(address: string, code: number, { upstreams }: Fields): string[] {
  if (code === NOBODY) return [`no gateway answers at ${address}; start it: patchbay serve`];
  const states = Object.entries(fieldsOf(upstreams) ?? {});
  return [
    `${address} is ${code === READY ? "ready" : "not ready"}`,
    ...states.map(([name, state]) => `  ${name}: ${String(state)}`),
  ];
}
