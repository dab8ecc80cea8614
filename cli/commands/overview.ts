import { environment } from "../../src/host/config/env.ts";
import { findAll, foundLines } from "../found/found.ts";
import { localStatuses, statusLines } from "./status.ts";
import { print } from "../../src/host/platform/print.ts";

/** `patchbay` alone: what is there and what to do next. It starts nothing. */
export async function overview(): Promise<void> {
  const [found, running] = await Promise.all([findAll(environment()), localStatuses()]);
  const isRunning = running.length > 0;
  const agent = found.agents[0]?.name ?? "codex";
  print([
    ...(isRunning ? running.flatMap(statusLines) : ["No gateway of yours runs here."]),
    "",
    ...foundLines(found),
    "",
    ...(isRunning
      ? [
          "  patchbay top                its turns as they come",
          "  patchbay doctor             whether its keys, upstreams and models are well",
          `  patchbay launch ${agent.padEnd(12)}an agent on one of its models`,
        ]
      : [
          "  patchbay init               write patchbay.yaml from what was found",
          "  patchbay serve              run the gateway; without a file, what was found or the demo",
          `  patchbay launch ${agent.padEnd(12)}an agent with a gateway of its own`,
        ]),
    "",
    "patchbay --help lists every command.",
  ]);
}
