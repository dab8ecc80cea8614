import { setImmediate } from "node:timers/promises";
import { writeProblem } from "../../diagnostics/write-problem.ts";
import { headerOf } from "../../gateway/http/admission.ts";
import type { Config } from "../../gateway/config.ts";
import type { Recorder, RecordedRequest } from "../../gateway/http/exchange.ts";
import type { Report } from "../happening.ts";
import type { Clock } from "../../turn/clock.ts";
import { makeFolder } from "../../upstreams/folder.ts";
import { bundleName, prune, saveBundle } from "./bundle-folder.ts";
import { writeBundle } from "./write-bundle.ts";
import { secretsIn } from "./secrets.ts";
import type { Steps } from "./wire-mask.ts";
import { MAX_TURN_BYTES, TurnRecord, type SeenTurn } from "./turn-record.ts";

export type RecordingMode = Config["telemetry"]["recording"];

export type RecorderOptions = {
  readonly clock: Clock;
  readonly report: Report;
  /** Whose secrets no bundle may hold. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Where bundles go if the configuration does not say. */
  readonly folder: string;
  /** Why another user could read or replace what is in that folder; a configured one is the operator's choice. */
  readonly foreign: (folder: string) => string | undefined;
};

/** What somebody asks of a running gateway in place of its configuration. */
export type RecordingOrder = {
  readonly mode: RecordingMode;
  /** Until then by the clock; without it, until it is taken back. */
  readonly forMs?: number | undefined;
};

export type RecordingState = {
  readonly mode: RecordingMode;
  readonly content: Config["recording"]["content"];
  readonly folder: string;
  /** Bundles written since the start, and turns that could not be. */
  readonly written: number;
  readonly missed: number;
  /** The files of the latest bundles. */
  readonly latest: readonly string[];
};

/** Records the turns of a gateway, as its configuration and its operator say. */
export type OpenRecorder = Recorder & {
  follow(config: Config): void;
  /** Takes the place of what is configured; undefined: what is configured holds again. */
  order(order: RecordingOrder | undefined): RecordingState;
  state(): RecordingState;
  /** Waits until all that was seen is written. */
  settled(): Promise<void>;
};

/** Bytes of turns that run or wait to be written: recording never grows beyond it. */
const MAX_HELD_BYTES = 4 * MAX_TURN_BYTES;
/** Files that an operator is told of. */
const LATEST = 20;
/** How long others wait at a time, unless one step of a mask takes longer. */
const SLICE_MS = 2;
/** Turns that wait to be written. */
const MAX_WAITING = 256;

export function openRecorder(options: RecorderOptions): OpenRecorder {
  const { clock } = options;
  let config: Config | undefined;
  let ordered: { readonly mode: RecordingMode; readonly callOff: () => void } | undefined;
  let held = 0;
  const folder = (): string => config?.recording.folder ?? options.folder;
  const queue = new BundleQueue(options, folder);
  const mode = (): RecordingMode => ordered?.mode ?? config?.telemetry.recording ?? "off";
  const state = (): RecordingState => ({
    mode: mode(),
    content: config?.recording.content ?? "masked",
    folder: folder(),
    written: queue.written,
    missed: queue.missed,
    latest: queue.latest,
  });
  return {
    begin(request) {
      const at = ordered?.mode ?? config?.telemetry.recording ?? "off";
      const isAsked =
        request.exchange.headers["x-patchbay-record"] !== undefined && isAskedFor(request);
      if (at === "off" && !isAsked) return undefined;
      const isWanted = at === "failures" && !isAsked ? isFailure : () => true;
      return new TurnRecord({
        ...request,
        now: () => clock.now(),
        date: () => clock.date(),
        hold: (bytes) => (held += bytes) <= MAX_HELD_BYTES,
        over(turn) {
          if (turn === undefined) queue.miss(NO_ROOM);
          else if (isWanted(turn)) queue.add(turn);
        },
      });
    },
    follow: (next) => void (config = next),
    order(order) {
      ordered?.callOff();
      ordered = undefined;
      if (order === undefined) return state();
      const { forMs } = order;
      const end = (): void => void (ordered = undefined);
      const callOff =
        forMs === undefined ? (): void => {} : clock.at(clock.now() + forMs, end, "background");
      ordered = { mode: order.mode, callOff };
      return state();
    },
    state,
    settled: () => queue.settled(),
  };
}

const NO_ROOM = "has no room for all that is to be recorded; some turns are left out";

/** Turns on their way to the disk, one at a time: masking takes the time of turns under way. */
class BundleQueue {
  written = 0;
  missed = 0;
  latest: readonly string[] = [];
  readonly #options: RecorderOptions;
  readonly #folder: () => string;
  readonly #secrets: readonly string[];
  readonly #waiting: SeenTurn[] = [];
  #writing: Promise<void> | undefined;
  #isTroubled = false;

  constructor(options: RecorderOptions, folder: () => string) {
    this.#options = options;
    this.#folder = folder;
    this.#secrets = secretsIn(options.environment ?? {});
  }

  add(turn: SeenTurn): void {
    if (this.#waiting.length >= MAX_WAITING) return this.miss(NO_ROOM);
    this.#waiting.push(turn);
    this.#writing ??= this.#work();
  }

  /** One line for each time that recording stops working, and not for every turn. */
  miss(problem: string): void {
    const [setting, path] = ["recording.folder", this.#folder()];
    this.missed++;
    if (!this.#isTroubled) this.#options.report({ type: "unwritable", setting, path, problem });
    this.#isTroubled = true;
  }

  async settled(): Promise<void> {
    await this.#writing;
    if (this.#writing !== undefined) await this.settled();
  }

  async #work(): Promise<void> {
    for (let turn = this.#waiting.shift(); turn !== undefined; turn = this.#waiting.shift()) {
      // Turns under way come first.
      await setImmediate();
      await this.#save(turn);
    }
    this.#writing = undefined;
  }

  /** Works in slices, with turns under way between them. */
  async #inSlices<Result>(steps: Steps<Result>): Promise<Result> {
    const { clock } = this.#options;
    let began = clock.now();
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return step.value;
      if (clock.now() - began < SLICE_MS) continue;
      await setImmediate();
      began = clock.now();
    }
  }

  async #save(turn: SeenTurn): Promise<void> {
    const { content, names, keep } = turn.config.recording;
    const folder = this.#folder();
    try {
      const options = { content, names, secrets: this.#secrets };
      const text = await this.#inSlices(writeBundle(turn, options));
      makeFolder(folder, 0o700);
      const foreign = folder === this.#options.folder ? this.#options.foreign(folder) : undefined;
      if (foreign !== undefined)
        return this.miss(`is not used because ${foreign}; name another as \`recording.folder\``);
      const path = await saveBundle(folder, bundleName(turn.startedAt, turn.requestId), text);
      this.written++;
      this.latest = [...this.latest, path].slice(-LATEST);
      this.#isTroubled = false;
      await prune(folder, keep, this.#options.clock.date());
    } catch (error) {
      this.miss(writeProblem(error));
    }
  }
}

const isFailure = ({ done, status }: SeenTurn): boolean =>
  done === undefined ? status >= 400 : done.outcome === "failed";

/** Anybody may where nobody needs a key: such a gateway is reached from its own machine alone. */
function isAskedFor({ exchange, tenant, config: { server, recording } }: RecordedRequest): boolean {
  if (headerOf(exchange.headers, "x-patchbay-record") !== "true") return false;
  return server.keys.length === 0 || recording.by_header.includes(tenant);
}
