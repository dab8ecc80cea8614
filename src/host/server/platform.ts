import type { Platform } from "../../gateway/state.ts";
import { systemClock } from "./clock.ts";
import { environment } from "../config/env.ts";
import { newId } from "./ids.ts";

/** What this machine gives a gateway; without a `report`, nobody hears what happens. */
export const nodePlatform = (report: Platform["report"] = () => {}): Platform => ({
  clock: systemClock,
  newId,
  random: Math.random,
  report,
  environment: environment(),
});
