/** Routes for `patchbay doctor` on the private socket of a gateway. */

import {
  type ConsoleRequest,
  type ConsoleRoute,
  type Gateway,
  newId,
  sendConsoleJson,
  systemClock,
} from "../../src/serving.ts";
import { fieldsIn, filledText } from "../../src/terminal.ts";
import type { ConfigOrigin } from "../../src/configuration.ts";

/** The checks are loaded with their first request, because they are rarely used. */
export function doctorRoutes(
  gateway: Pick<Gateway, "examined">,
  origin: ConfigOrigin,
): readonly ConsoleRoute[] {
  return [
    {
      method: "GET",
      path: "/checks",
      async serve({ exchange }) {
        const { examine } = await import("./examine.ts");
        const options = { origin, examined: gateway.examined(), isRunning: true };
        sendConsoleJson(exchange, 200, await examine({ ...options, clock: systemClock }));
      },
    },
    {
      method: "POST",
      path: "/probe/plan",
      async serve(request) {
        const { planProbe } = await import("./probe.ts");
        const plan = await planProbe(gateway.examined(), modelIn(request), systemClock);
        sendConsoleJson(request.exchange, 200, plan);
      },
    },
    {
      method: "POST",
      path: "/probe",
      async serve(request) {
        const { runProbe } = await import("./probe.ts");
        const parts = { clock: systemClock, newId };
        const probe = await runProbe(gateway.examined(), modelIn(request), parts);
        sendConsoleJson(request.exchange, 200, probe);
      },
    },
  ];
}

const modelIn = ({ exchange }: ConsoleRequest): string | undefined =>
  filledText(fieldsIn(exchange.body)?.model);
