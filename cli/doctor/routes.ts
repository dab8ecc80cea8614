/** Routes for `patchbay doctor` on the private socket of a gateway. */

import { type ConsoleRoutes, type Gateway, newId, systemClock } from "../../src/serving.ts";
import { fieldsIn, filledText } from "../../src/terminal.ts";
import type { ConfigOrigin } from "../../src/configuration.ts";

/** The checks are loaded with their first request, because they are rarely used. */
export const doctorRoutes = (
  gateway: Pick<Gateway, "examined">,
  origin: ConfigOrigin,
): ConsoleRoutes => ({
  "GET /checks": async () => {
    const { examine } = await import("./examine.ts");
    const options = { origin, examined: gateway.examined(), isRunning: true };
    return examine({ ...options, clock: systemClock });
  },
  "POST /probe/plan": async ({ body }) => {
    const { planProbe } = await import("./probe.ts");
    return planProbe(gateway.examined(), modelIn(body), systemClock);
  },
  "POST /probe": async ({ body }) => {
    const { runProbe } = await import("./probe.ts");
    return runProbe(gateway.examined(), modelIn(body), { clock: systemClock, newId });
  },
});

const modelIn = (body: string): string | undefined => filledText(fieldsIn(body)?.model);
