/**
 * The answers of the console's routes: one schema for the terminal, which reads them, and for
 * pages. Objects are loose, so that an older reader accepts the fields of a newer gateway.
 */

import { z } from "zod";
import { fields } from "../fields.ts";

const [text, number] = [z.string(), z.number()];
const optionalText = text.optional();
const optionalNumber = number.optional();

const recording = z.looseObject({
  mode: z.enum(["off", "failures", "all"]),
  content: z.enum(["masked", "full"]),
  folder: text,
  written: number,
  missed: number,
  /** The files of the latest bundles. */
  latest: z.array(text).readonly().default([]),
});

/** `GET /status` */
export const statusSchema = z.looseObject({
  object: z.literal("status"),
  version: text,
  pid: number,
  url: text,
  /** In milliseconds since the epoch. */
  startedAt: number,
  /** The files of the configuration; empty if it comes from the environment alone. */
  files: z.array(text),
  /** The sources of upstreams' keys, such as names of variables. */
  keys: z.record(text, text).default({}),
  upstreams: z.array(
    z.looseObject({
      ...fields(text, "name", "profile"),
      ...fields(optionalText, "fault", "problem"),
    }),
  ),
  models: z.record(text, z.array(text)),
  store: z.looseObject({
    kind: text,
    ...fields(optionalText, "fault", "problem"),
    /** The time when it became unavailable, and when it was available again; no `backAt` while it is away. */
    ...fields(optionalNumber, "awayAt", "backAt"),
  }),
  /** A changed configuration that cannot be used; the running one stays in force. */
  rejected: z
    .looseObject({
      file: optionalText,
      /** Each with its remedy. */
      problems: z.array(text),
      /** The time when the first version that cannot be used was read. */
      since: number,
    })
    .optional(),
  keyed: z.boolean(),
  recording: recording.optional(),
  running: number,
  /** Ended turns that can be shown, and turns since the start. */
  ...fields(number.default(0), "kept", "turns"),
  /** Recent problems, the latest last. */
  wrong: z.array(z.looseObject({ at: number, ...fields(text, "about", "problem") })).default([]),
});

export type ConsoleStatus = z.output<typeof statusSchema>;

const doneTurn = z.looseObject({
  type: z.literal("turn"),
  ...fields(text, "requestId", "tenant", "door", "model", "upstream", "outcome", "plan"),
  ...fields(
    number,
    "at",
    "status",
    "decisions",
    "requestBytes",
    "toolBytes",
    "toolBytesSent",
    "ms",
  ),
  ...fields(optionalText, "agent", "run", "fault", "priceDate"),
  ...fields(optionalNumber, "cost", "plannedMs", "askedMs", "headersMs", "firstEventMs"),
  firstCallMs: optionalNumber,
  calls: z.looseObject(fields(number, "given", "withheld", "repeated")),
  usage: z
    .looseObject({
      ...fields(number, "input", "output", "total"),
      ...fields(optionalNumber, "cached", "cacheWrite"),
      estimated: z.boolean().optional(),
    })
    .optional(),
  attempts: z.array(
    z.looseObject({
      upstream: text,
      ...fields(number, "atMs", "ms"),
      ...fields(optionalNumber, "status", "waitMs"),
      fault: optionalText,
      reason: z.looseObject(fields(optionalText, "code", "type", "message")).optional(),
    }),
  ),
  callDetails: z.array(
    z.looseObject({
      ...fields(text, "name", "kind", "outcome"),
      ...fields(number, "atMs", "ms", "argumentChars"),
    }),
  ),
});

const refusal = z.looseObject({
  type: z.literal("refusal"),
  ...fields(number, "at", "status"),
  ...fields(text, "requestId", "route", "fault"),
  param: optionalText,
});

const row = z.discriminatedUnion("type", [doneTurn, refusal]);

const runningTurn = z.looseObject({
  ...fields(text, "requestId", "model", "upstream", "step", "plan"),
  ...fields(number, "startedAt", "ms", "calls", "attempts"),
  agent: optionalText,
  firstEventMs: optionalNumber,
});

/** `GET /feed` */
export const batchSchema = z.looseObject({
  last: number,
  /** Turns that were no longer kept when they should have been sent. */
  lost: number,
  /** Turns without a problem that were only counted, because there were too many. */
  unsent: number.default(0),
  turns: z.array(row),
  running: z.array(runningTurn),
  /** The number of the last notice so far. */
  lastNotice: number.default(0),
  notices: z.array(z.looseObject({ at: number, type: text })).default([]),
});

/** `GET /turn` */
export const turnSchema = z.looseObject({
  turn: row.optional(),
  running: runningTurn.optional(),
  plan: z
    .looseObject({
      tools: z.array(
        z.looseObject({ ...fields(text, "name", "verdict"), reason: text.default("") }),
      ),
    })
    .optional(),
});

export type FeedBatch = z.output<typeof batchSchema>;
export type TurnRow = z.output<typeof row>;
export type DoneRow = z.output<typeof doneTurn>;
export type RunningRow = z.output<typeof runningTurn>;
export type TurnView = z.output<typeof turnSchema>;

/** `POST` and `DELETE /recording` */
export const recordingStateSchema = recording.extend({ object: z.literal("recording") });
