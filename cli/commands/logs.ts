import type { FeedBatch } from "../../src/observe/console/wire.ts";
import { print, printError, printJson } from "../../src/terminal.ts";
import { exitCode } from "../output.ts";
import { chooseFollowed } from "../gateways.ts";
import { noticeLine, reasonLines, rowLine, turnLines } from "../turn-lines.ts";
import type { With } from "../options.ts";

/** `patchbay logs`: turns and notices of a running gateway, the latest last. */
export async function logs(options: With<"last">): Promise<void> {
  const { last, follow = false, json = false } = options;
  const followed = await chooseFollowed(options);
  if (followed === undefined) return;
  if (options.turn !== undefined) {
    const view = await followed.turn(options.turn);
    if (json) printJson(view);
    else print(turnLines(view));
    const hasFailed = view.turn?.type === "refusal" || view.turn?.outcome === "failed";
    if (hasFailed) process.exitCode = exitCode.wrong;
    return;
  }
  const ending = new AbortController();
  process.once("SIGINT", () => ending.abort());
  for await (const batch of followed.watch(ending.signal, { last, follow }))
    printBatch(batch, { json, follow });
  if (follow && !ending.signal.aborted) printError("The gateway has stopped.");
}

function printBatch(
  { turns, notices, lost, unsent }: FeedBatch,
  { json, follow }: { readonly json: boolean; readonly follow: boolean },
): void {
  const entries = [
    ...turns.map((one) => ({ one, lines: () => [rowLine(one), ...reasonLines(one)] })),
    ...notices.map((one) => ({ one, lines: () => [noticeLine(one)] })),
  ].toSorted((a, b) => a.one.at - b.one.at);
  const skipped = (follow ? lost : 0) + unsent;
  if (skipped > 0 && !json) print(`… ${skipped} more turns are not shown`);
  for (const { one, lines } of entries)
    if (json) printJson(one);
    else print(lines());
}
