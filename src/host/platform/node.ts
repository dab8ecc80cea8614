import type { Platform } from "../../gateway/platform.ts";
import type { Happening, Report } from "../../observe/happening.ts";
import { environment } from "../config/env.ts";
import { systemClock } from "./clock.ts";
import { newId } from "./ids.ts";
import { nodeRuntime } from "./node-runtime.ts";
import { printError } from "./print.ts";

/** Without a `report`, only exceptions are told: where they were raised, as their words may quote a request. */
const reportTrouble: Report = Object.assign(
  (happening: Happening) => {
    if (happening.type !== "trouble") return;
    const { error, requestId = "no request", frames } = happening;
    printError([`patchbay: ${error} (${requestId})`, ...frames.map((frame) => `    ${frame}`)]);
  },
  { types: ["trouble"] as const },
);

/** What this machine gives a gateway. */
export const nodePlatform = (report: Report = reportTrouble): Platform => ({
  clock: systemClock,
  newId,
  random: Math.random,
  report,
  runtime: nodeRuntime,
  environment: environment(),
});
