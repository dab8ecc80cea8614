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
  upstreams: z.array(upstreamStatus),
  models: z.record(z.string(), z.array(z.string())),
  store: z.looseObject({
    kind: z.string(),
    fault: z.string().optional(),
    problem: z.string().optional(),
  }),
  keyed: z.boolean(),
  running: z.number(),
});

export type Status = z.output<typeof statusSchema>;
