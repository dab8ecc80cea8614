/** The findings of the checks and probes of `patchbay doctor`, as they are sent. */

import { z } from "zod";
import { capabilitiesSchema } from "../../gateway/capabilities.ts";

/** In the order of the report. */
export const groups = [
  "gateway",
  "configuration",
  "upstreams",
  "models",
  "agents",
  "machine",
] as const;

/** The worst first. `unknown`: the check could not be made. */
export const outcomes = ["wrong", "unknown", "note", "ok"] as const;

export type CheckOutcome = (typeof outcomes)[number];

const checkSchema = z.object({
  group: z.enum(groups),
  /** A stable name of the check, such as `upstream.key`. */
  id: z.string(),
  /** The name of the upstream, model, agent or file. */
  subject: z.string(),
  outcome: z.enum(outcomes),
  evidence: z.string(),
  /** Left out if there is nothing to do. */
  remedy: z.string().optional(),
});

/** The result of one check, with its evidence and one remedy. */
export type Check = Readonly<z.output<typeof checkSchema>>;

/** `GET /checks` */
export const examinationSchema = z.object({
  checks: z.array(checkSchema).readonly(),
  /** A digest of each variable that upstreams use; the salt changes with every request. */
  variables: z.object({ salt: z.string(), digests: z.record(z.string(), z.string()) }),
  file: z.string().optional(),
});

export type Examination = Readonly<z.output<typeof examinationSchema>>;

/** `POST /probe/plan`: the target of a probe's questions. */
export const probePlanSchema = z.object({
  upstream: z.string(),
  model: z.string(),
  /** The largest number of its requests. */
  requests: z.number(),
});

export type ProbePlan = Readonly<z.output<typeof probePlanSchema>>;

/** `POST /probe` */
export const probeSchema = probePlanSchema.extend({
  checks: z.array(checkSchema).readonly(),
  /** The capabilities that would correct the profile. */
  capabilities: capabilitiesSchema,
});

export type Probe = Readonly<z.output<typeof probeSchema>>;
