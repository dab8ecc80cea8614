import type { FaultCode } from "../../turn/fault.ts";
import type { Config } from "../config.ts";
import type { GatewayState } from "../state.ts";

/** What a gateway serves and how it fares. It holds names, and neither keys nor addresses. */
export type GatewayStatus = {
  readonly upstreams: readonly UpstreamStatus[];
  /** What clients may ask for -> `upstream/model`, tried in order. */
  readonly models: Readonly<Record<string, readonly string[]>>;
  readonly store: {
    readonly kind: Config["store"]["kind"];
    /** Why it cannot be written just now. */
    readonly fault?: FaultCode | undefined;
    readonly problem?: string | undefined;
  };
  /** Whether requests need a key. */
  readonly keyed: boolean;
  /** Turns under way. */
  readonly running: number;
};

export type UpstreamStatus = {
  readonly name: string;
  readonly profile: string;
  /** Why it cannot serve just now, as far as that is known without asking a model. */
  readonly fault?: FaultCode | undefined;
  readonly problem?: string | undefined;
};

type Described = Pick<GatewayState, "upstreams" | "config" | "store" | "running" | "keys">;

export async function gatewayStatus(state: Described): Promise<GatewayStatus> {
  const { config, store, running, keys } = state;
  const trouble = store.trouble();
  return {
    upstreams: await upstreamStates(state),
    models: config.models,
    store: { kind: config.store.kind, fault: trouble?.code, problem: trouble?.message },
    keyed: keys.keys.length > 0,
    running: running.size,
  };
}

export const upstreamStates = ({
  upstreams,
}: Pick<GatewayState, "upstreams">): Promise<readonly UpstreamStatus[]> =>
  Promise.all(
    Array.from(upstreams, async ([name, upstream]) => {
      const trouble = await upstream.trouble?.();
      const profile = upstream.profile.name;
      return { name, profile, fault: trouble?.code, problem: trouble?.message };
    }),
  );
