import { readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { writeProblem } from "../../diagnostics/write-problem.ts";
import { headerOf } from "../../gateway/http/admission.ts";
import type { Config, RecordingSettings } from "../../gateway/config.ts";
import type { Recorder, RecordedRequest, StartedRecording } from "../../gateway/http/exchange.ts";
import type { Report } from "../happening.ts";
import type { Clock } from "../../turn/clock.ts";
import { makeFolder } from "../../upstreams/folder.ts";
import { writeBundle } from "./write-bundle.ts";
import { secretsIn } from "./secrets.ts";
import { MAX_TURN_BYTES, RecordedTurn } from "./turn-record.ts";
import type { Steps } from "./wire-mask.ts";

type RecordingMode = Config["telemetry"]["recording"];

export type RecorderOptions = {
  readonly clock: Clock;
  readonly report: Report;
  /** Bundles do not contain its secrets. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** The folder of bundles unless the configuration names one. */
  readonly folder: string;
  /** The reason why another user could read or replace files in that folder; a configured one is the operator's choice. */
  readonly foreign: (folder: string) => string | undefined;
};

/** An operator's order to a running gateway, in place of its configuration. */
export type RecordingOrder = {
  readonly mode: RecordingMode;
  /** The order ends after this time; left out: when it is canceled. */
  readonly forMs?: number | undefined;
};

export type RecordingState = {
  readonly mode: RecordingMode;
  readonly content: RecordingSettings["content"];
  readonly folder: string;
  /** Bundles written since the start, and turns that could not be. */
  readonly written: number;
  readonly missed: number;
  /** The files of the latest bundles. */
  readonly latest: readonly string[];
};

/** The limit of the bytes of all turns under way. */
const MAX_HELD_BYTES = 4 * MAX_TURN_BYTES;
const LATEST = 20;
/** Turns that wait to be written. */
const MAX_WAITING = 256;
/** The time after which masking lets other work run. */
const SLICE_MS = 2;
const NO_ROOM = "does not receive all turns, because they exceed the memory for recordings";

/** Records the turns of a gateway, by its configuration and the orders of its operator. */
export class BundleRecorder implements Recorder {
  readonly #options: RecorderOptions;
  readonly #secrets: readonly string[];
  #config: Config | undefined;
  #ordered: { readonly mode: RecordingMode; readonly callOff: () => void } | undefined;
  #held = 0;
  #written = 0;
  #missed = 0;
  #latest: readonly string[] = [];
  readonly #waiting: RecordedTurn[] = [];
  #writing: Promise<void> | undefined;
  #isFailing = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#secrets = secretsIn(options.environment ?? {});
  }

  begin(request: RecordedRequest): StartedRecording | undefined {
    const mode = this.#ordered?.mode ?? this.#config?.telemetry.recording ?? "off";
    const isAsked =
      request.exchange.headers["x-patchbay-record"] !== undefined && isAskedFor(request);
    if (mode === "off" && !isAsked) return undefined;
    return new RecordedTurn(request, {
      clock: this.#options.clock,
      hold: (bytes) => (this.#held += bytes) <= MAX_HELD_BYTES,
      over: (turn) => {
        if (turn !== undefined && mode === "failures" && !isAsked && !isFailure(turn)) return;
        if (turn === undefined || this.#waiting.length >= MAX_WAITING) return this.#miss(NO_ROOM);
        this.#waiting.push(turn);
        this.#writing ??= this.#work();
      },
    });
  }

  follow(config: Config): void {
    this.#config = config;
  }

  /** Replaces the configured mode; undefined: ends the order. */
  order(order: RecordingOrder | undefined): RecordingState {
    this.#ordered?.callOff();
    this.#ordered = undefined;
    if (order !== undefined) {
      const { mode, forMs } = order;
      const { clock } = this.#options;
      const end = (): void => void (this.#ordered = undefined);
      const callOff =
        forMs === undefined ? (): void => {} : clock.at(clock.now() + forMs, end, "background");
      this.#ordered = { mode, callOff };
    }
    return this.state();
  }

  state(): RecordingState {
    return {
      mode: this.#ordered?.mode ?? this.#config?.telemetry.recording ?? "off",
      content: this.#config?.recording.content ?? "masked",
      folder: this.#folder,
      written: this.#written,
      missed: this.#missed,
      latest: this.#latest,
    };
  }

  /** Waits until all turns that have ended are written. */
  async settled(): Promise<void> {
    await this.#writing;
    if (this.#writing !== undefined) await this.settled();
  }

  get #folder(): string {
    return this.#config?.recording.folder ?? this.#options.folder;
  }

  /** Counts a turn that was not written. Only the first one after a success is reported. */
  #miss(problem: string): void {
    const [setting, path] = ["recording.folder", this.#folder];
    this.#missed++;
    if (!this.#isFailing) this.#options.report({ type: "unwritable", setting, path, problem });
    this.#isFailing = true;
  }

  /** Writes one turn at a time, because masking delays the turns under way. */
  async #work(): Promise<void> {
    for (let turn = this.#waiting.shift(); turn !== undefined; turn = this.#waiting.shift()) {
      await setImmediate();
      await this.#save(turn);
    }
    this.#writing = undefined;
  }

  async #save(turn: RecordedTurn): Promise<void> {
    const { requestId, config } = turn.request;
    const folder = this.#folder;
    try {
      const text = await this.#inSlices(writeBundle(turn, this.#secrets));
      makeFolder(folder, 0o700);
      const foreign = folder === this.#options.folder ? this.#options.foreign(folder) : undefined;
      if (foreign !== undefined)
        return this.#miss(
          `is not used because ${foreign}; set \`recording.folder\` to another folder`,
        );
      // The start of the turn comes first, so that names sort by age.
      const time = new Date(turn.startedAt).toISOString().replaceAll(/[:.]/g, "-");
      const path = join(folder, `${time}-${safeId(requestId)}${BUNDLE_SUFFIX}`);
      await saveBundle(path, text);
      this.#written++;
      this.#latest = [...this.#latest, path].slice(-LATEST);
      this.#isFailing = false;
      await prune(folder, config.recording.keep, this.#options.clock.date());
    } catch (error) {
      this.#miss(writeProblem(error));
    }
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
}

const isFailure = ({ done, status }: RecordedTurn): boolean =>
  done === undefined ? status >= 400 : done.outcome === "failed";

/** Without keys, any client may order it: such a gateway only listens on loopback. */
function isAskedFor({ exchange, tenant, config: { server, recording } }: RecordedRequest): boolean {
  if (headerOf(exchange.headers, "x-patchbay-record") !== "true") return false;
  return server.keys.length === 0 || recording.by_header.includes(tenant);
}

const BUNDLE_SUFFIX = ".bundle.jsonl";
const HOUR = 3_600_000;

/** An id as a part of a file name. A client may have chosen the id. */
const safeId = (id: string): string => id.replaceAll(/[^\w.-]/g, "_").slice(0, 80);

/** Writes a bundle that only its owner may read. If that fails, its incomplete file is removed. */
async function saveBundle(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST")
      await rm(path, { force: true }).catch(() => {}); // The folder itself is gone.
    throw error;
  }
}

/** Removes bundles that are too old or too many, the oldest first. Another process may remove them at the same time. */
async function prune(folder: string, keep: RecordingSettings["keep"], now: number): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(BUNDLE_SUFFIX));
  let [turns, bytes] = [0, 0];
  for (const name of names.toSorted().toReversed()) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) continue;
    turns++;
    bytes += found.size;
    const isOld = now - found.mtimeMs > keep.hours * HOUR;
    if (isOld || turns > keep.turns || bytes > keep.bytes) await rm(path, { force: true });
  }
}

/** The newest file of a turn by its id. */
export async function findBundle(folder: string, id: string): Promise<string | undefined> {
  const names = await readdir(folder).catch(() => []);
  const own = names.filter((name) => name.endsWith(`-${safeId(id)}${BUNDLE_SUFFIX}`));
  const found = own.toSorted().at(-1);
  return found === undefined ? undefined : join(folder, found);
}
