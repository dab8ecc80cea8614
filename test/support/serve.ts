import { builtinDialects, type BuiltinDialectName } from "../../src/dialects/registry.ts";
import { defaultCounts } from "../../src/dialects/shared/request-counts.ts";
import { parseConfig, type ConfigInput } from "../../src/gateway/config.ts";
import { openGateway, type Gateway } from "../../src/gateway/gateway.ts";
import type { Platform } from "../../src/gateway/platform.ts";
import { systemClock } from "../../src/host/platform/clock.ts";
import { newId } from "../../src/host/platform/ids.ts";
import { nodeRuntime } from "../../src/host/platform/node.ts";
import { openServer } from "../../src/host/server/server.ts";
import type { Happening, TurnDone } from "../../src/observe/happening.ts";
import type { Clock } from "../../src/turn/clock.ts";

export type Served = AsyncDisposable & {
  /** Where clients find it, without `/v1`. */
  readonly url: string;
  readonly gateway: Gateway;
  /**
   * The same without a connection, at half the CPU time of a request: for tests that ask often,
   * and not about HTTP. The clients of official SDKs take it too.
   */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  readonly happenings: readonly Happening[];
  /** The turns that are over. */
  turns(): readonly TurnDone[];
  /** Takes up another configuration. */
  reconfigure(config: ConfigInput): void;
  close(graceMs: number): Promise<void>;
};

/** A whole gateway on a port of its own, as `patchbay serve` runs it. */
export async function serve(
  config: ConfigInput,
  environment: Platform["environment"] = {},
  clock: Clock = systemClock,
): Promise<Served> {
  const happenings: Happening[] = [];
  const parsed = parseConfig(config);
  const report = (happening: Happening): void => void happenings.push(happening);
  const parts = {
    clock,
    newId,
    random: Math.random,
    report,
    environment,
    runtime: nodeRuntime,
  };
  const gateway = openGateway(parsed, parts);
  const server = await openServer(gateway, { host: "127.0.0.1", port: 0 });
  let closing: Promise<void> | undefined;
  return {
    url: server.url,
    gateway,
    fetch: (input, init) => gateway.fetch(new Request(input, init)),
    happenings,
    turns: () => happenings.filter((happening) => happening.type === "turn"),
    reconfigure: (next) => gateway.reconfigure(parseConfig(next)),
    close: (graceMs) => (closing ??= server.close(graceMs)),
    [Symbol.asyncDispose]: () => (closing ??= server.close(0)),
  };
}

/** For `server.counts`: a request may be made of as much as a test likes. */
export const endlessCounts = Object.fromEntries(
  Object.keys(defaultCounts).map((name) => [name, 100_000_000]),
);

/** A configuration in which every model name leads to this one upstream. */
export const onto = (
  dialect: BuiltinDialectName,
  url: string,
  more: Readonly<Record<string, unknown>> = {},
): ConfigInput => ({
  upstreams: { fake: { dialect, base_url: url, retries: 0, ...more } },
  models: { "*": "fake/*" },
});

/** The same for every dialect that upstreams speak, by its name: `chat/m`, `responses/m`. */
export const ontoEach = (url: string): ConfigInput => ({
  upstreams: Object.fromEntries(
    builtinDialects.upstreams.map(({ name }) => [
      name,
      { dialect: name, base_url: url, retries: 0 },
    ]),
  ),
});
