import type { Platform } from "../../gateway/state.ts";
import { environment } from "../config/env.ts";
import { systemClock } from "./clock.ts";
import { newId } from "./ids.ts";
import { nodeRuntime } from "./node-runtime.ts";

/** What this machine gives a gateway; without a `report`, nobody hears what happens. */
export const nodePlatform = (report: Platform["report"] = () => {}): Platform => ({
  clock: systemClock,
  newId,
  random: Math.random,
  report,
  runtime: nodeRuntime,
  environment: environment(),
});
