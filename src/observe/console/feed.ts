import type { Exchange, Reply } from "../../gateway/http/exchange.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { turnRow } from "../../gateway/run/prices.ts";
import { sseFrame } from "../../stream/sse.ts";
import type { RecentTurn } from "../recent-turns.ts";
import type { Clock } from "../../turn/clock.ts";
import type { Notices } from "./notices.ts";

/** The interval of the batches. */
const BATCH_MS = 250;
/** Turns without a problem in one batch; others are only counted. */
const MOST_WELL = 50;
const MOST_RUNNING = 200;
/** Past turns in the first batch, unless the request sets another number. */
const FIRST = 100;

type Watched = Pick<Gateway, "recent" | "running" | "priceOf">;

type Running = ReturnType<Watched["running"]>;

type Watcher = {
  readonly reply: Reply;
  /** The numbers of the last turn and the last notice sent to it. */
  turns: number;
  notices: number;
  isFull: boolean;
  /** True if its last batch listed a turn under way. */
  sawRunning: boolean;
};

export type FeedOptions = {
  readonly gateway: Watched;
  readonly notices: Notices;
  readonly clock: Clock;
};

/**
 * Sends turns and notices to watchers in batches. Without watchers it does nothing; watchers that
 * have received the same batches share the text of the next one.
 */
export class Feed {
  readonly #options: FeedOptions;
  readonly #watchers = new Set<Watcher>();
  #isTimed = false;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** Starts after the turn that `last-event-id` names, or with some past ones. */
  serve({ reply, query, headers }: Exchange): void {
    const { recent } = this.#options.gateway;
    const params = new URLSearchParams(query);
    const last = Number(params.get("last") ?? FIRST);
    const known = headers["last-event-id"];
    const turns =
      typeof known === "string" ? Number(known) : Math.max(0, recent.last - Math.max(0, last || 0));
    const from = Number.isSafeInteger(turns) ? turns : 0;
    // A request without past turns receives no past notices.
    const notices = last === 0 ? this.#options.notices.last : 0;
    const watcher: Watcher = { reply, turns: from, notices, isFull: false, sawRunning: false };
    reply.head(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    reply.onDrain(() => (watcher.isFull = false));
    reply.onLeave(() => this.#watchers.delete(watcher));
    this.#watchers.add(watcher);
    const running = this.#options.gateway.running();
    this.#send(watcher, this.#batch(watcher, running, Infinity), running);
    this.#time();
  }

  #time(): void {
    if (this.#isTimed || this.#watchers.size === 0) return;
    this.#isTimed = true;
    const { clock } = this.#options;
    clock.at(clock.now() + BATCH_MS, () => this.#tick(), "background");
  }

  #tick(): void {
    this.#isTimed = false;
    const made = new Map<string, string>();
    const running = this.#options.gateway.running();
    for (const watcher of this.#watchers) {
      if (watcher.isFull || !this.#hasNews(watcher, running)) continue;
      const key = `${watcher.turns} ${watcher.notices}`;
      let text = made.get(key);
      if (text === undefined) made.set(key, (text = this.#batch(watcher, running, MOST_WELL)));
      this.#send(watcher, text, running);
    }
    this.#time();
  }

  #hasNews({ turns, notices, sawRunning }: Watcher, running: Running): boolean {
    const { gateway, notices: noticed } = this.#options;
    const isQuiet = gateway.recent.last === turns && noticed.last === notices;
    return !isQuiet || sawRunning || running.length > 0;
  }

  #send(watcher: Watcher, text: string, running: Running): void {
    watcher.turns = this.#options.gateway.recent.last;
    watcher.notices = this.#options.notices.last;
    watcher.sawRunning = running.length > 0;
    watcher.isFull = !watcher.reply.write(text);
  }

  #batch({ turns: from, notices: noticed }: Watcher, running: Running, most: number): string {
    const { gateway, notices } = this.#options;
    const { turns, last, lost } = gateway.recent.since(from);
    const shown = sampled(turns, most);
    const batch = {
      object: "batch",
      last,
      lost,
      unsent: turns.length - shown.length,
      turns: shown.map((turn) => turnRow(turn, gateway.priceOf)),
      running: running.slice(-MOST_RUNNING),
      notices: notices.since(noticed).map(({ at, happening }) => Object.assign({ at }, happening)),
    };
    return `id: ${last}\n${sseFrame(JSON.stringify(batch))}`;
  }
}

const isWrong = (turn: RecentTurn): boolean => turn.type === "refusal" || turn.outcome === "failed";

/** All turns with a problem, and an even sample of at most `most` others. */
function sampled(turns: readonly RecentTurn[], most: number): readonly RecentTurn[] {
  const well = turns.reduce((count, turn) => count + (isWrong(turn) ? 0 : 1), 0);
  if (well <= most) return turns;
  let seen = 0;
  return turns.filter((turn) => {
    if (isWrong(turn)) return true;
    const before = Math.floor((seen * most) / well);
    seen++;
    return Math.floor((seen * most) / well) > before;
  });
}
