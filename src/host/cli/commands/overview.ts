import { fieldsOf } from "../../../dialects/shared/loose.ts";
import { environment } from "../../config/env.ts";
import { findAll, foundLines } from "../found/found.ts";
import { askLocal } from "../found/local-servers.ts";

const DEFAULT = "http://127.0.0.1:11435";

/** `patchbay` alone: what is there and what to do next. It starts nothing. */
export async function overview(): Promise<void> {
  const [found, ready] = await Promise.all([findAll(environment()), askLocal(`${DEFAULT}/readyz`)]);
  const upstreams = fieldsOf(ready?.upstreams);
  const isRunning = upstreams !== undefined;
  const agent = found.agents[0]?.name ?? "codex";
  console.log(
    [
      isRunning
        ? `A gateway listens on ${DEFAULT} (${stateText(upstreams)}).`
        : `No gateway listens on ${DEFAULT}.`,
      "",
      ...foundLines(found),
      "",
      ...(isRunning
        ? [
            "  patchbay smoke              whether tool calls come through it",
            `  patchbay launch ${agent.padEnd(12)}an agent on one of its models`,
            "  patchbay health             whether it is ready, as an exit code",
          ]
        : [
            "  patchbay init               write patchbay.yaml from what was found",
            "  patchbay serve              run the gateway; without a file, what was found or the demo",
            `  patchbay launch ${agent.padEnd(12)}an agent with a gateway of its own`,
          ]),
      "",
      "patchbay --help lists every command.",
    ].join("\n"),
  );
}

const stateText = (upstreams: Readonly<Record<string, unknown>>): string =>
  Object.entries(upstreams)
    .map(([name, state]) => `${name}: ${String(state)}`)
    .join(", ");
