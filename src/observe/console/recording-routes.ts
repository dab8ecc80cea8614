import { z } from "zod";
import type { BundleRecorder } from "../recording/recorder.ts";
import { Fault } from "../../turn/fault.ts";
import { jsonOf } from "../../json/json.ts";
import { sendConsoleJson, type ConsoleRequest, type ConsoleRoute } from "./route.ts";

const orderSchema = z.object({
  mode: z.enum(["off", "failures", "all"]),
  /** Milliseconds after which what is configured holds again. */
  for_ms: z.number().positive().optional(),
});

/** The switch of the recorder: what is configured holds again when an order ends or is taken back. */
export function recordingRoutes(
  recorder: Pick<BundleRecorder, "order" | "state" | "settled">,
): ConsoleRoute[] {
  const path = "/recording";
  const tell = ({ exchange }: ConsoleRequest, state = recorder.state()): void =>
    sendConsoleJson(exchange, 200, { object: "recording", ...state });
  return [
    { method: "GET", path, serve: (request) => tell(request) },
    {
      method: "POST",
      path,
      serve(request) {
        const order = orderSchema.safeParse(jsonOf(request.exchange.body));
        if (!order.success)
          throw new Fault(
            "request.invalid",
            "Send `mode` (`off`, `failures` or `all`) and, where it is to end by itself, `for_ms`.",
          );
        const { mode, for_ms: forMs } = order.data;
        tell(request, recorder.order({ mode, forMs }));
      },
    },
    {
      method: "DELETE",
      path,
      async serve(request) {
        recorder.order(undefined);
        // Turns that are over may still be on their way to the disk, and are counted when they are there.
        await recorder.settled();
        tell(request);
      },
    },
  ];
}
