import type { Decision } from "../../turn/decision.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile, ThinkingRule } from "../../turn/profile.ts";
import type { Fields, Format, Params, Turn } from "../../turn/turn.ts";
import { isFields, ownOf } from "../../json/json.ts";
import { effortOf, isAbove, nearestEffort } from "../shared/effort.ts";
import { fieldsOf, filledText } from "../shared/loose.ts";
import { fieldsAt, filledTextAt, schemaAt } from "../shared/shape.ts";

/** Reads `output_config.format`. It is always strict and has no name, which other dialects require. */
export function readFormat(raw: unknown, path: string): Format | undefined {
  if (raw === undefined || raw === null) return undefined;
  const format = fieldsAt(raw, path, 'an object such as {"type":"json_schema","schema":{…}}');
  if (filledTextAt(format.type, `${path}.type`) !== "json_schema")
    return { type: "opaque", dialect: "messages", raw };
  const schema = schemaAt(format.schema, `${path}.schema`);
  const title = isFields(schema) ? filledText(schema.title) : undefined;
  const name = title?.replaceAll(/[^\w-]/g, "_").slice(0, 64) ?? "answer";
  return { type: "schema", name, schema, strict: true };
}

/** Undefined if this dialect has no such format; text is the default. */
export function writeFormat(format: Format): Fields | undefined {
  if (format.type === "schema") return { type: "json_schema", schema: format.schema };
  return format.type === "opaque" && format.dialect === "messages"
    ? (format.raw as Fields)
    : undefined;
}

/** Budgets of tokens by effort. */
const budgets: Readonly<Record<string, number>> = { low: 4_096, medium: 10_000, high: 24_000 };
const LEAST_BUDGET = 1024;

/** Reads effort and budget of thinking in the parameters of all dialects. */
export function readThinking(params: Params, effort: string | undefined): Params {
  const { thinking, thinkingBudget, reasoningSummary: display, ...rest } = params;
  const asked = effort ?? params.effort ?? effortFor(thinking, thinkingBudget);
  return {
    ...rest,
    ...(thinking !== undefined && { thinking }),
    ...(thinkingBudget !== undefined && { thinkingBudget }),
    ...(asked !== undefined && { effort: asked }),
    // Anything but `omitted` asks to see what the model thinks.
    ...(display !== undefined && display !== "omitted" && { reasoningSummary: "auto" }),
  };
}

function effortFor(thinking: string | undefined, budget: number | undefined): string | undefined {
  if (thinking === "disabled") return "none";
  return budget === undefined ? undefined : effortOf(budget);
}

/** A system message may change the effort from there on; the last one counts. */
export function effortIn(messages: readonly unknown[]): string | undefined {
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = fieldsOf(messages[at]);
    if (message?.role !== "system") continue;
    const effort = filledText(fieldsOf(message.output_config)?.effort);
    if (effort !== undefined) return effort;
  }
  return undefined;
}

type Asked = {
  readonly turn: Turn<UpstreamName>;
  readonly profile: Profile;
  readonly maxTokens: number;
};

export type Thinking = {
  readonly thinking?: Fields | undefined;
  readonly effort?: string | undefined;
  readonly decisions: readonly Decision[];
};

/** Writes effort and budget of thinking in the forms that the model takes. */
export function writeThinking({ turn, profile, maxTokens }: Asked): Thinking {
  const { thinking: rule = anyForm } = profile;
  const decisions: Decision[] = [];
  const change = (name: "effort" | "thinking", reason: string): void => {
    const path = turn.traits.params[turn.traits.params[name] === undefined ? "effort" : name];
    decisions.push({ path: path ?? name, action: "changed", reason });
  };
  const form = formFor(turn.params, rule, change);
  const effort = effortWord(turn.params, form, rule, change);
  if (form === undefined) return { effort, decisions };
  if (form !== "enabled")
    return { thinking: withDisplay({ type: form }, turn, rule), effort, decisions };
  const budget = Math.min(budgetFor(turn.params), maxTokens - 1);
  if (budget < LEAST_BUDGET) {
    change("thinking", `there is no room to think within ${maxTokens} tokens`);
    return { effort, decisions };
  }
  const thinking = { type: form, budget_tokens: budget };
  return { thinking: withDisplay(thinking, turn, rule), effort, decisions };
}

/** The rule of unknown servers: they receive what the client asks for. */
const anyForm: ThinkingRule = {
  forms: ["adaptive", "enabled", "disabled", "between_tools"],
  efforts: ["low", "medium", "high", "xhigh", "max"],
};

type Change = (name: "effort" | "thinking", reason: string) => void;

function formFor(
  { thinking, effort }: Params,
  { forms }: ThinkingRule,
  change: Change,
): string | undefined {
  const wanted =
    thinking ?? (effort === undefined ? undefined : effort === "none" ? "disabled" : "adaptive");
  if (wanted === undefined || forms.includes(wanted)) return wanted;
  if (wanted === "disabled") {
    change("thinking", "the model always thinks; the request asks for the least thinking");
    return undefined;
  }
  const other =
    wanted === "enabled" ? "adaptive" : forms.includes("adaptive") ? "adaptive" : "enabled";
  if (!forms.includes(other)) {
    change("thinking", "the model does not think");
    return undefined;
  }
  if (thinking !== undefined) change("thinking", `the model takes \`${other}\` instead`);
  return other;
}

const budgetFor = ({ thinkingBudget, effort = "medium" }: Params): number => {
  if (thinkingBudget !== undefined) return Math.max(thinkingBudget, LEAST_BUDGET);
  return ownOf(budgets, effort) ?? (isAbove(effort, "high") ? Infinity : LEAST_BUDGET);
};

/** The nearest effort that the model has, not above the requested one if possible. */
function effortWord(
  { effort, thinking }: Params,
  form: string | undefined,
  { efforts }: ThinkingRule,
  change: Change,
): string | undefined {
  if (effort === undefined || efforts.length === 0) return undefined;
  if (effort === "none") return form === "disabled" ? undefined : efforts[0];
  // The budget sets it.
  if (form === "enabled" && thinking === "enabled") return undefined;
  const nearest = nearestEffort(effort, efforts);
  if (nearest !== effort) change("effort", `the model has nothing nearer than \`${nearest}\``);
  return nearest;
}

/** Thinking is left out by default; clients of other dialects expect to see it. */
function withDisplay(
  thinking: Fields,
  turn: Turn<UpstreamName>,
  { display }: ThinkingRule,
): Fields {
  const isShown = turn.dialect !== "messages" || turn.params.reasoningSummary !== undefined;
  const isThought = thinking.type !== "disabled";
  return isShown && isThought && display === true
    ? { display: "summarized", ...thinking }
    : thinking;
}

/** `standard_only` has the meaning of `default` in other APIs: no priority service. */
export const readTier = (tier: string | undefined): Pick<Params, "serviceTier"> =>
  tier === undefined ? {} : { serviceTier: tier === "standard_only" ? "default" : tier };

const words: ReadonlyMap<string, string> = new Map([
  ["auto", "auto"],
  ["default", "standard_only"],
  ["standard_only", "standard_only"],
]);

/** Undefined for a tier that this API does not have. */
export const writeTier = (tier: string): string | undefined => words.get(tier);
