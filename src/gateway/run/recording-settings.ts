import { z } from "zod";

const MEGABYTE = 1024 * 1024;

/** `recording`: what is written of a turn that is recorded, where, and how much of it is kept. */
export const recordingSchema = z.strictObject({
  /** `masked`: placeholders of the same size replace texts. `full`: only secrets are masked. */
  content: z.enum(["masked", "full"]).default("masked"),
  /** Also masks the names of tools. */
  names: z.enum(["kept", "masked"]).default("kept"),
  /** Where the bundles are; default: `recordings` in the user's state directory. */
  folder: z
    .string()
    .optional()
    .transform((value) => (value === "" ? undefined : value)),
  keep: z
    .strictObject({
      turns: z.int().positive().default(200),
      bytes: z
        .int()
        .positive()
        .default(64 * MEGABYTE),
      hours: z.number().positive().default(24),
    })
    .prefault({}),
  /** The tenants whose clients may ask for a record with `x-patchbay-record: true`. */
  by_header: z.array(z.string().min(1)).default([]),
});

export type RecordingSettings = z.output<typeof recordingSchema>;
