/**
 * What the console's routes answer: one schema for the terminal, which reads it,
 * and for pages. Objects are loose, so that an older reader takes what a newer
 * gateway tells.
 */

import { z } from "zod";

const upstreamStatus = z.looseObject({
  name: z.string(),
  profile: z.string(),
  fault: z.string().optional(),
  problem: z.string().optional(),
});

const recording = z.looseObject({
  mode: z.enum(["off", "failures", "all"]),
  content: z.enum(["masked", "full"]),
  folder: z.string(),
  written: z.number(),
  missed: z.number(),
  /** The files of the latest bundles; none from a gateway of an older version. */
  latest: z.array(z.string()).readonly().default([]),
});

/** `GET /status` */
export const statusSchema = z.looseObject({
  object: z.literal("status"),
  version: z.string(),
  pid: z.number(),
  /** Where clients reach it. */
  url: z.string(),
  /** In milliseconds since the epoch. */
  startedAt: z.number(),
  /** What the configuration was read from; none: the environment alone. */
  files: z.array(z.string()),
  /** Where the keys of upstreams came from, such as the names of variables; none from a gateway of an older version. */
  keys: z.record(z.string(), z.string()).default({}),
  upstreams: z.array(upstreamStatus),
  models: z.record(z.string(), z.array(z.string())),
  store: z.looseObject({
    kind: z.string(),
    fault: z.string().optional(),
    problem: z.string().optional(),
    /** When it was last away, and when it was back: none while it is away. */
    awayAt: z.number().optional(),
    backAt: z.number().optional(),
  }),
  /** A changed configuration that cannot be used; the running one stays in force. */
  rejected: z
    .looseObject({
      file: z.string().optional(),
      /** Each with its remedy. */
      problems: z.array(z.string()),
      /** When the first version that cannot be used was read. */
      since: z.number(),
    })
    .optional(),
  keyed: z.boolean(),
  /** None from a gateway of an older version. */
  recording: recording.optional(),
  running: z.number(),
  /** How many turns that are over can be looked at, and how many were counted since the start. */
  kept: z.number().default(0),
  turns: z.number().default(0),
  /** How many follow the feed. */
  watchers: z.number().default(0),
  /** What has gone wrong lately, the latest last. */
  wrong: z
    .array(z.looseObject({ at: z.number(), about: z.string(), problem: z.string() }))
    .default([]),
});

export type Status = z.output<typeof statusSchema>;

const usage = z.looseObject({
  input: z.number(),
  output: z.number(),
  total: z.number(),
  cached: z.number().optional(),
  cacheWrite: z.number().optional(),
  estimated: z.boolean().optional(),
});

const attempt = z.looseObject({
  upstream: z.string(),
  status: z.number().optional(),
  fault: z.string().optional(),
  reason: z
    .looseObject({
      code: z.string().optional(),
      type: z.string().optional(),
      message: z.string().optional(),
    })
    .optional(),
  waitMs: z.number().optional(),
  atMs: z.number(),
  ms: z.number(),
});

const call = z.looseObject({
  name: z.string(),
  kind: z.string(),
  atMs: z.number(),
  ms: z.number(),
  argumentChars: z.number(),
  outcome: z.string(),
});

const moment = z.number().optional();

const doneTurn = z.looseObject({
  type: z.literal("turn"),
  at: z.number(),
  requestId: z.string(),
  tenant: z.string(),
  agent: z.string().optional(),
  run: z.string().optional(),
  door: z.string(),
  model: z.string(),
  upstream: z.string(),
  outcome: z.string(),
  status: z.number(),
  fault: z.string().optional(),
  plan: z.string(),
  decisions: z.number(),
  calls: z.looseObject({ given: z.number(), withheld: z.number(), repeated: z.number() }),
  usage: usage.optional(),
  cost: z.number().optional(),
  priceDate: z.string().optional(),
  requestBytes: z.number(),
  toolBytes: z.number(),
  toolBytesSent: z.number(),
  attempts: z.array(attempt),
  callDetails: z.array(call),
  ms: z.number(),
  plannedMs: moment,
  askedMs: moment,
  headersMs: moment,
  firstEventMs: moment,
  firstCallMs: moment,
});

const refusal = z.looseObject({
  type: z.literal("refusal"),
  at: z.number(),
  requestId: z.string(),
  route: z.string(),
  status: z.number(),
  fault: z.string(),
  param: z.string().optional(),
});

const row = z.discriminatedUnion("type", [doneTurn, refusal]);

const runningTurn = z.looseObject({
  requestId: z.string(),
  agent: z.string().optional(),
  model: z.string(),
  upstream: z.string(),
  step: z.string(),
  plan: z.string(),
  startedAt: z.number(),
  ms: z.number(),
  calls: z.number(),
  attempts: z.number(),
  firstEventMs: moment,
});

/** `GET /feed`: what one event of the stream holds; its id is `last`. */
export const batchSchema = z.looseObject({
  /** The number of the last turn so far. */
  last: z.number(),
  /** Turns that were gone before they could be sent. */
  lost: z.number(),
  /** Turns that went well and are only counted: more came than anybody reads. */
  unsent: z.number().default(0),
  turns: z.array(row),
  running: z.array(runningTurn),
  notices: z.array(z.looseObject({ at: z.number(), type: z.string() })).default([]),
});

/** `GET /turns/{id}` */
export const turnSchema = z.looseObject({
  turn: row.optional(),
  running: runningTurn.optional(),
  plan: z
    .looseObject({
      tools: z.array(
        z.looseObject({ name: z.string(), verdict: z.string(), reason: z.string().default("") }),
      ),
    })
    .optional(),
});

export type Batch = z.output<typeof batchSchema>;
export type Row = z.output<typeof row>;
export type DoneRow = z.output<typeof doneTurn>;
export type RunningRow = z.output<typeof runningTurn>;
export type TurnView = z.output<typeof turnSchema>;

/** `GET`, `POST` and `DELETE /recording` */
export const recordingStateSchema = recording.extend({ object: z.literal("recording") });
