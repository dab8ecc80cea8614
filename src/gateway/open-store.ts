import { MemoryStore } from "../history/memory.ts";
import { noStore } from "../history/none.ts";
import type { Retention, Store } from "../history/store.ts";
import { Fault } from "../turn/fault.ts";
import type { Config } from "./config.ts";
import type { Platform } from "./state.ts";

const DAY_MS = 86_400_000;
const MIB = 1024 * 1024;
const DAYS_KEPT = 30;
/** How much each kind keeps where nothing is said about it. */
const bytesKept = { memory: 24 * MIB, sqlite: 1024 * MIB, postgres: 10_240 * MIB } as const;

const WAITS =
  "Expired rows of the store are kept until gateways have run for another 24 hours: the clock seems to have been set, or most rows would be dropped. Check the clock of this machine, or of the PostgreSQL server.";

/** The store that a configuration asks for. */
export function openStore(
  config: Config["store"],
  { clock, report, runtime }: Pick<Platform, "clock" | "report" | "runtime">,
): Store {
  if (config.kind === "off") return noStore;
  const retention: Retention = {
    maxBytes: config.max_bytes ?? bytesKept[config.kind],
    maxAgeMs: (config.max_age_days ?? DAYS_KEPT) * DAY_MS,
  };
  if (config.kind === "memory") return new MemoryStore(clock, retention);
  if (runtime.openStore === undefined)
    throw new Fault(
      "config.invalid",
      `store.kind: \`${config.kind}\` needs Node; use \`memory\` or \`off\` here.`,
    );
  const onState = (fault: Fault | undefined): void =>
    report(
      fault === undefined
        ? { type: "store", event: "available" }
        : { type: "store", event: "unavailable", fault: fault.code, problem: fault.message },
    );
  const onWait = (): void => report({ type: "store", event: "waits", problem: WAITS });
  return runtime.openStore(config, { clock, retention, onState, onWait });
}
