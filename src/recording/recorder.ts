import { randomFillSync } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { writeProblem } from "../diagnostics/write-problem.ts";
import { headerOf } from "../gateway/admission.ts";
import type { Config } from "../gateway/config.ts";
import type { Recorder, RecordedRequest } from "../gateway/recorder.ts";
import type { Report } from "../telemetry/happening.ts";
import type { Clock } from "../turn/clock.ts";
import { bundleName, prune, saveBundle } from "./bundle-folder.ts";
import { writeBundle } from "./bundle/write-bundle.ts";
import { secretsIn } from "./masking/secrets.ts";
import type { Random } from "./masking/word-mask.ts";
import { MAX_TURN_BYTES, TurnRecord, type SeenTurn } from "./turn-record.ts";

export type RecordingMode = Config["telemetry"]["recording"];

export type RecorderOptions = {
  readonly clock: Clock;
  readonly report: Report;
  /** Whose secrets no bundle may hold. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Where bundles go if the configuration does not say. */
  readonly folder: string;
  readonly random?: Random | undefined;
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
/** Turns that wait to be written. */
const MAX_WAITING = 256;

export function openRecorder(options: RecorderOptions): OpenRecorder {
  const { clock, report, random = secureRandom() } = options;
  const secrets = secretsIn(options.environment ?? {});
  let config: Config | undefined;
  let ordered: { readonly mode: RecordingMode; readonly callOff: () => void } | undefined;
  let held = 0;
  let [written, missed] = [0, 0];
  let isTroubled = false;
  const waiting: SeenTurn[] = [];
  let writing: Promise<void> | undefined;

  const mode = (): RecordingMode => ordered?.mode ?? config?.telemetry.recording ?? "off";
  const folder = (): string => config?.recording.folder ?? options.folder;
  /** One line for each time that recording stops working, and not for every turn. */
  const trouble = (problem: string): void => {
    missed++;
    if (!isTroubled)
      report({ type: "unwritable", setting: "recording.folder", path: folder(), problem });
    isTroubled = true;
  };
  const save = async (turn: SeenTurn): Promise<void> => {
    const { content, names, keep } = turn.config.recording;
    try {
      const text = writeBundle(turn, { content, names, secrets, random });
      await saveBundle(folder(), bundleName(turn.startedAt, turn.requestId), text);
      written++;
      isTroubled = false;
      await prune(folder(), keep, clock.date());
    } catch (error) {
      trouble(writeProblem(error));
    }
  };
  const work = async (): Promise<void> => {
    for (let turn = waiting.shift(); turn !== undefined; turn = waiting.shift()) {
      // Turns under way come first.
      await setImmediate();
      await save(turn);
    }
    writing = undefined;
  };
  const over = (turn: SeenTurn | undefined, isWanted: (turn: SeenTurn) => boolean): void => {
    if (turn === undefined || waiting.length >= MAX_WAITING)
      return trouble("has no room for all that is to be recorded; some turns are left out");
    if (!isWanted(turn)) return;
    waiting.push(turn);
    writing ??= work();
  };
  const state = (): RecordingState => ({
    mode: mode(),
    content: config?.recording.content ?? "masked",
    folder: folder(),
    written,
    missed,
  });
  return {
    begin(request) {
      const at = mode();
      const isAsked = isAskedFor(request);
      if (at === "off" && !isAsked) return undefined;
      const isWanted = at === "failures" && !isAsked ? isFailure : () => true;
      return new TurnRecord({
        ...request,
        now: () => clock.now(),
        date: () => clock.date(),
        hold: (bytes) => (held += bytes) <= MAX_HELD_BYTES,
        over: (turn) => over(turn, isWanted),
      });
    },
    follow: (next) => void (config = next),
    order(order) {
      ordered?.callOff();
      ordered = undefined;
      if (order === undefined) return state();
      const end = (): void => void (ordered = undefined);
      const { forMs } = order;
      const callOff =
        forMs === undefined ? (): void => {} : clock.at(clock.now() + forMs, end, "background");
      ordered = { mode: order.mode, callOff };
      return state();
    },
    state,
    async settled() {
      while (writing !== undefined) await writing;
    },
  };
}

const isFailure = ({ done, status }: SeenTurn): boolean =>
  done === undefined ? status >= 400 : done.outcome === "failed";

/** Anybody may where nobody needs a key: such a gateway is reached from its own machine alone. */
function isAskedFor({ exchange, tenant, config: { server, recording } }: RecordedRequest): boolean {
  if (headerOf(exchange.headers, "x-patchbay-record") !== "true") return false;
  return server.keys.length === 0 || recording.by_header.includes(tenant);
}

/** From 0 up to 1, by the machine's own randomness, in batches. */
function secureRandom(): Random {
  const pool = new Uint32Array(1024);
  let at = pool.length;
  return () => {
    if (at === pool.length) {
      randomFillSync(pool);
      at = 0;
    }
    return (pool[at++] ?? 0) / 0x1_0000_0000;
  };
}
