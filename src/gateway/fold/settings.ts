import { z } from "zod";
import { nearest } from "../../diagnostics/nearest.ts";
import { Fault } from "../../turn/fault.ts";
import { ownOf } from "../../json/json.ts";

/**
 * `fit`: tools are folded only where the upstream takes fewer than there are.
 * `auto`: also where they are many. `off` and `eager`: never. The others name the
 * strategy by which they are folded wherever there is anything to fold.
 */
const disclosureModes = ["fit", "auto", "off", "eager", "native", "wrap", "append"] as const;
export type DisclosureMode = (typeof disclosureModes)[number];

const mode = z.enum(disclosureModes);

const limit = z.int().nonnegative();

const full = z.strictObject({
  mode: mode.default("fit").describe("The strategy, as the short form sets it."),
  models: z
    .record(z.string(), mode)
    .default({})
    .describe("By the name that clients ask for: another strategy."),
  tools: limit.default(24).describe("`auto` folds longer lists of functions."),
  bytes: limit.default(32_000).describe("`auto` folds larger lists of definitions."),
  rounds: limit.max(64).default(8).describe("The most hidden rounds of a request."),
});

/** A mode alone, or a mode with the limits it works by. */
export const disclosureSchema = z.union([mode, full], {
  error: `must be one of ${disclosureModes.join(", ")}, or a group with \`mode\`, \`models\`, \`tools\`, \`bytes\` and \`rounds\``,
});

const usual = full.parse({});

/** What one request is folded by. */
export type DisclosureSettings = {
  readonly mode: DisclosureMode;
  /** `auto` folds more functions than `tools`, or more `bytes` of definitions. */
  readonly thresholds: { readonly tools: number; readonly bytes: number };
  readonly rounds: number;
};

export type DisclosureConfig = z.output<typeof disclosureSchema>;

export const DISCLOSURE_HEADER = "x-patchbay-disclosure";

/** The settings of one request: its header counts first, then the model's name, then the configuration. */
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
