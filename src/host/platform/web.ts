import type { Platform } from "../../gateway/platform.ts";
import { systemClock } from "./clock.ts";
import { newId } from "./ids.ts";
import { webRuntime } from "./web-runtime.ts";

/** What any runtime with the Web's own interfaces gives a gateway. */
export const webPlatform = (): Platform => ({
  clock: systemClock,
  newId,
  random: Math.random,
  report: Object.assign(() => {}, { types: [] }),
  runtime: webRuntime(),
});
