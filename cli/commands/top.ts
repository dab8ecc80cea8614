import { turnSchema } from "../../src/observe/console/wire.ts";
import {
  askGateway,
  currentSockets,
  environment,
  isTerminal,
  type LocalGateway,
  print,
  printError,
  printJson,
  type WatchedBatch,
  watchGateway,
} from "../../src/terminal.ts";
import { chooseGateway, type GatewayOptions, watchRemote } from "../gateways.ts";
import { openScreen, TopModel } from "../top/table.ts";
import { noticeLine, reasonLines, rowLine, turnLines } from "../turn-lines.ts";

export type TopOptions = GatewayOptions & { readonly json?: boolean | undefined };

/** How a gateway is followed, wherever it runs. */
type Followed = {
  readonly url: string;
  /** How many processes it is to have, where that is known. */
  readonly workers?: number | undefined;
  watch(signal: AbortSignal): AsyncIterable<WatchedBatch>;
  /** One turn in full. */
  turn(requestId: string): Promise<readonly string[]>;
};

/** `patchbay top`: the turns of a running gateway as they come; a table at a terminal, else lines. */
export async function top(options: TopOptions): Promise<void> {
  const chosen = await chooseGateway(options);
  if ("problem" in chosen) {
    printError(chosen.problem);
    process.exitCode = chosen.code;
    return;
  }
  const followed = "local" in chosen ? localTop(chosen.local) : watchRemote(chosen.remote);
  const ending = new AbortController();
  process.once("SIGINT", () => ending.abort());
  if (isTerminal() && options.json !== true) await showTable(followed, ending);
  else
    for await (const batch of followed.watch(ending.signal))
      printBatch(batch, options.json === true);
}

function localTop(gateway: LocalGateway): Followed {
  const current = () => currentSockets(gateway, environment());
  return {
    url: gateway.url,
    workers: gateway.workers,
    watch: (signal) => watchGateway(gateway, { signal, current }),
    async turn(requestId) {
      const path = `/turns/${encodeURIComponent(requestId)}`;
      const sockets = (await current()) ?? [];
      const asked = sockets.map((socket) => askGateway(socket, turnSchema, { path }));
      const views = await Promise.allSettled(asked);
      const found = views.find((view) => view.status === "fulfilled");
      return found === undefined ? ["It is not kept any more."] : turnLines(found.value);
    },
  };
}

function printBatch(batch: WatchedBatch, json: boolean): void {
  if (json) return printJson({ ...batch, socket: undefined });
  for (const turn of batch.turns) print([rowLine(turn), ...reasonLines(turn)]);
  for (const notice of batch.notices) print(noticeLine(notice));
}

const missingWorkers = (workers = 1, answering = workers): string =>
  answering < workers ? `  ${answering} of ${workers} workers` : "";

async function showTable(followed: Followed, ending: AbortController): Promise<void> {
  const model = new TopModel();
  /** What is shown in place of the table: one turn. */
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
    // Without an answer the table stays of use, so the reason takes the place of the turn.
    const lines = await followed.turn(row.requestId).catch((error: Error) => [error.message]);
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
    missing = missingWorkers(followed.workers, batch.answering);
    draw();
  }
  if (ending.signal.aborted) return;
  // What was seen stays to be looked at until a key ends it.
  model.isLive = false;
  draw();
  await new Promise((resolve) => ending.signal.addEventListener("abort", resolve, { once: true }));
}
