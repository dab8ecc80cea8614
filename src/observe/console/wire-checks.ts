/** What the checks and probes of `patchbay doctor` find, as they go over the wire. */

import { z } from "zod";
import { capabilitiesSchema } from "../../gateway/capabilities.ts";

/** In the order in which they are shown. */
export const groups = [
  "gateway",
  "configuration",
  "upstreams",
  "models",
  "agents",
  "machine",
] as const;

/** The worst first. `unknown`: it could not be found out, which is neither well nor wrong. */
export const outcomes = ["wrong", "unknown", "note", "ok"] as const;

export type Outcome = (typeof outcomes)[number];

const checkSchema = z.object({
  group: z.enum(groups),
  /** Which check it is, such as `upstream.key`; these words stay the same. */
  id: z.string(),
  /** What was looked at: the name of an upstream, a model, an agent or a file. */
  subject: z.string(),
  outcome: z.enum(outcomes),
  evidence: z.string(),
  /** What to do; none where nothing has to be done. */
  remedy: z.string().optional(),
});

/** One thing that was looked at, with its evidence and one remedy. */
export type Check = Readonly<z.output<typeof checkSchema>>;

/** `GET /checks` */
export const examinationSchema = z.object({
  checks: z.array(checkSchema).readonly(),
  /** A digest of each variable that bears on upstreams; the salt is another one every time. */
  variables: z.object({ salt: z.string(), digests: z.record(z.string(), z.string()) }),
  /** What the configuration was read from. */
  file: z.string().optional(),
});

export type Examination = Readonly<z.output<typeof examinationSchema>>;

/** `POST /probe/plan`: where the questions of a probe would go. */
export const probePlanSchema = z.object({
  upstream: z.string(),
  model: z.string(),
  /** How many requests it takes at most. */
  requests: z.number(),
});

export type ProbePlan = Readonly<z.output<typeof probePlanSchema>>;

/** `POST /probe` */
export const probeSchema = probePlanSchema.extend({
  checks: z.array(checkSchema).readonly(),
  /** What would make the profile true. */
  capabilities: capabilitiesSchema,
});

export type Probe = Readonly<z.output<typeof probeSchema>>;
