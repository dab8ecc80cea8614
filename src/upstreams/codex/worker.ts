import type { Clock } from "../../turn/clock.ts";
import { Fault, faults } from "../../turn/fault.ts";
import type { AppServer } from "./server.ts";

/** Starts one; `gone` is called if it ends. */
export type Start = (gone: () => void) => Promise<AppServer>;

/** So many starts in a row may fail; then nobody waits for another for a while. */
const MOST_FAILURES = 4;
/** So often those who wait have it tried before they are told. */
const TRIES = 2;
const FIRST_WAIT = 100;
const LONGEST_WAIT = 30_000;
/** So long those who need one wait that could be started and died. */
const LONGEST_REST = 2_000;
/** One that lived as long as this did not die of how it was started. */
const LONG_LIFE = 60_000;

/** One place for a process: started when it is needed, and again when it has died. */
export class Worker {
  readonly #start: Start;
  readonly #clock: Clock;
  #server: Promise<AppServer> | undefined;
  /** Starts that failed and lives that were short, in a row. */
  #failures = 0;
  #started = 0;
  #rested = 0;
  #trouble: Fault | undefined;
  #closed = false;
  /** The turns it carries. */
  turns = 0;

  constructor(start: Start, clock: Clock) {
    this.#start = start;
    this.#clock = clock;
  }

  /** The running process, if need be a new one. */
  server(): Promise<AppServer> {
    if (this.#server !== undefined) return this.#server;
    const server = (this.#server = this.#begin());
    // Whoever asks after this one has failed has it tried anew.
    server.catch(() => void (this.#server === server && (this.#server = undefined)));
    return server;
  }

  /** Why it cannot serve just now. One that has not been started is, to find out. */
  async trouble(): Promise<Fault | undefined> {
    if (this.#clock.now() < this.#rested && this.#trouble !== undefined) return this.#trouble;
    await this.server().catch(() => {}); // The reason is kept.
    return this.#trouble;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const server = await this.#server?.catch(() => undefined); // What never started need not be closed.
    await server?.close();
  }

  async #begin(): Promise<AppServer> {
    for (let tried = 1; ; tried++) {
      if (this.#clock.now() < this.#rested) {
        // Nobody is kept waiting for what only an operator can mend.
        if (this.#trouble !== undefined && this.#isHopeless(this.#trouble)) throw this.#trouble;
        await new Promise<void>((resolve) => void this.#clock.at(this.#rested, resolve));
      }
      try {
        return await this.#try();
      } catch (error) {
        const trouble = error instanceof Fault ? error : unstartable(error);
        this.#trouble = trouble;
        this.#rest();
        if (tried < TRIES && !this.#isHopeless(trouble)) continue;
        throw trouble;
      }
    }
  }

  async #try(): Promise<AppServer> {
    if (this.#closed)
      throw new Fault("gateway.stopping", "The upstream is being closed; try again.");
    const server = await this.#start(() => this.#lost());
    this.#trouble = undefined;
    this.#started = this.#clock.now();
    return server;
  }

  #isHopeless({ code }: Fault): boolean {
    return this.#closed || this.#failures >= MOST_FAILURES || !faults[code].retry;
  }

  /** One death is an accident, and the next start follows at once; several in a row are none. */
  #lost(): void {
    this.#server = undefined;
    if (this.#clock.now() - this.#started >= LONG_LIFE) this.#failures = 0;
    if (this.#failures > 0) this.#rest(LONGEST_REST);
    else this.#failures = 1;
  }

  #rest(longest = LONGEST_WAIT): void {
    this.#failures++;
    const wait = Math.min(longest, FIRST_WAIT * 2 ** this.#failures);
    this.#rested = this.#clock.now() + wait;
  }
}

const unstartable = (error: unknown): Fault =>
  new Fault(
    "upstream.unreachable",
    "The upstream could not start Codex; the gateway's log says why.",
    { log: { error: error instanceof Error ? error.name : typeof error } },
    error,
  );
