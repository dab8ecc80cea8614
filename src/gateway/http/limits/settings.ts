import { z } from "zod";

const count = z.int().positive().optional();

/** What one tenant may take; what is not named is not limited. */
const limitsSchema = z.strictObject({
  requests_per_minute: count,
  /** Of input and output, as upstreams count them. */
  tokens_per_minute: count,
  concurrent_turns: count,
  /** Bytes of the requests of all turns under way, with what they refer to. */
  bytes_in_flight: count,
});

/** `limits`: for every tenant, and in its place for those that are named. */
export const tenantLimitsSchema = z.strictObject({
  default: limitsSchema.prefault({}),
  tenants: z.record(z.string(), limitsSchema).default({}),
});

export type Limits = z.output<typeof limitsSchema>;
export type LimitsConfig = z.output<typeof tenantLimitsSchema>;
