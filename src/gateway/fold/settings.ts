import { z } from "zod";
import { nearest } from "../../diagnostics/nearest.ts";
import { Fault } from "../../turn/fault.ts";
import { ownOf } from "../../json/json.ts";

/**
 * `fit` folds tools only if the upstream takes fewer than the request has. `auto` also folds
 * long lists. `off` and `eager` never fold. The other modes always fold, with the named strategy.
 */
const disclosureModes = ["fit", "auto", "off", "eager", "native", "wrap", "append"] as const;
export type DisclosureMode = (typeof disclosureModes)[number];

const mode = z.enum(disclosureModes);

const limit = z.int().nonnegative();

const full = z.strictObject({
  mode: mode.default("fit").describe("The strategy, as in the short form."),
  models: z
    .record(z.string(), mode)
    .default({})
    .describe("Other strategies, by the model name of the request."),
  tools: limit.default(24).describe("`auto` folds longer lists of functions."),
  bytes: limit.default(32_000).describe("`auto` folds larger lists of definitions."),
  rounds: limit.max(64).default(8).describe("The most hidden rounds of a request."),
});

/** A mode, or a group of a mode and its limits. */
export const disclosureSchema = z.union([mode, full], {
  error: `must be one of ${disclosureModes.join(", ")}, or a group with \`mode\`, \`models\`, \`tools\`, \`bytes\` and \`rounds\``,
});

const usual = full.parse({});

/** The folding settings of one request. */
export type DisclosureSettings = {
  readonly mode: DisclosureMode;
  /** `auto` folds more functions than `tools`, or more `bytes` of definitions. */
  readonly thresholds: { readonly tools: number; readonly bytes: number };
  readonly rounds: number;
};

export type DisclosureConfig = z.output<typeof disclosureSchema>;

export const DISCLOSURE_HEADER = "x-patchbay-disclosure";

/** The settings of one request. The header of the request wins over the setting for its model, and that over `mode`. */
export function disclosureFor(
  config: DisclosureConfig,
  model: string,
  header = "",
): DisclosureSettings {
  const { models, tools, bytes, rounds } = typeof config === "string" ? usual : config;
  const own = typeof config === "string" ? config : (ownOf(models, model) ?? config.mode);
  const asked = header === "" ? own : modeIn(header);
  return { mode: asked, thresholds: { tools, bytes }, rounds };
}

/** The mode that a header names. */
export function modeIn(header: string): DisclosureMode {
  const word = header.trim().toLowerCase();
  const known = disclosureModes.find((one) => one === word);
  if (known !== undefined) return known;
  const near = nearest(word, disclosureModes);
  const hint = near === undefined ? "" : ` Did you mean \`${near}\`?`;
  throw new Fault(
    "request.invalid",
    `\`${DISCLOSURE_HEADER}\` must be one of ${disclosureModes.join(", ")}.${hint}`,
    { param: DISCLOSURE_HEADER },
  );
}
