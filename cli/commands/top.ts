import { isTerminal, print, printJson } from "../../src/terminal.ts";
import { chooseFollowed, type Followed, type WatchedBatch } from "../gateways.ts";
import { openScreen, TopModel } from "../top/table.ts";
import { noticeLine, reasonLines, rowLine, turnLines } from "../turn-lines.ts";
import type { Options } from "../options.ts";

/** `patchbay top`: the turns of a running gateway as they come; a table at a terminal, else lines. */
export async function top(options: Options): Promise<void> {
  const followed = await chooseFollowed(options);
  if (followed === undefined) return;
  const ending = new AbortController();
  process.once("SIGINT", () => ending.abort());
  if (isTerminal() && options.json !== true) await showTable(followed, ending);
  else
    for await (const batch of followed.watch(ending.signal))
      printBatch(batch, options.json === true);
}

function printBatch(batch: WatchedBatch, json: boolean): void {
  if (json) return printJson({ ...batch, socket: undefined });
  for (const turn of batch.turns) print([rowLine(turn), ...reasonLines(turn)]);
  for (const notice of batch.notices) print(noticeLine(notice));
}

const missingWorkers = (answering: number, workers = 1): string =>
  answering < workers ? `  ${answering} of ${workers} workers` : "";

async function showTable(followed: Followed, ending: AbortController): Promise<void> {
  const model = new TopModel();
  /** One turn, shown in place of the table. */
  let detail: readonly string[] | undefined;
  let missing = "";
  const draw = (): void => {
    const title = `Patchbay ${followed.url}${missing}`;
    const lines = detail ?? model.lines(title, screen.columns, screen.height);
    screen.show(lines);
  };
  const open = async (): Promise<void> => {
    const row = model.chosen();
    if (row === undefined) return;
    // If the gateway does not answer, the reason is shown in place of the turn.
    const lines = await followed
      .turn(row.requestId)
      .then(turnLines, (error: Error) => [error.message]);
    if (ending.signal.aborted) return;
    detail = [...lines, "", "Esc: back"];
    draw();
  };
  const act = (key: string, text: string): void => {
    if (key === "ctrl-c" || (key === "q" && !model.isTyping)) ending.abort();
    else if (detail !== undefined) detail = key === "escape" ? undefined : detail;
    else if (key === "return" && !model.isTyping) void open();
    else model.press(key, text);
  };
  using screen = openScreen({
    key(key, text) {
      act(key, text);
      draw();
    },
    resize: draw,
  });
  draw();
  for await (const batch of followed.watch(ending.signal)) {
    model.add(batch);
    missing = missingWorkers(batch.answering, followed.workers);
    draw();
  }
  if (ending.signal.aborted) return;
  // The turns stay on the screen until a key ends the command.
  model.isLive = false;
  draw();
  await new Promise((resolve) => ending.signal.addEventListener("abort", resolve, { once: true }));
}
