/** Reads requests of Gemini's API as turns. */

import { isFields } from "../../json/json.ts";
import type { Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import type { Fields, Format, Item, Params, Turn } from "../../turn/turn.ts";
import type { PathParams } from "../dialect.ts";
import { fieldsOf, filledText, given } from "../shared/loose.ts";
import { readParams } from "../shared/params.ts";
import {
  fieldsAt,
  invalid,
  optionalFlagAt,
  optionalTextAt,
  readModel,
  repairInto,
  textAt,
  type Repair,
} from "../shared/shape.ts";
import { readContents } from "./read-contents.ts";
import {
  camelFields,
  camelFieldsAt,
  numberIn,
  optionalListOf,
  readWord,
  type Reports,
} from "./read-fields.ts";
import { readInstructions } from "./read-parts.ts";
import { readSchema } from "./read-schema.ts";
import { ONE_SCHEMA, readToolConfig, readTools } from "./read-tools.ts";
import { geminiTraits } from "./traits.ts";

/** The actions of a model that ask for an answer. */
const actions: ReadonlySet<string> = new Set(["generateContent", "streamGenerateContent"]);
/** The paths that are served, for clients that ask for others. */
export const SERVED =
  "Gemini clients are served `models/{model}:generateContent`, `:streamGenerateContent`, `:countTokens`, and the list of `models`, below /v1beta, /v1alpha, /v1 and the paths of Vertex AI";

/** Fields that are read here and not by the table of parameters. */
const own = new Set([
  "contents",
  "systemInstruction",
  "tools",
  "toolConfig",
  "safetySettings",
  "model",
  "generationConfig.responseMimeType",
  "generationConfig.responseSchema",
  "generationConfig.responseJsonSchema",
  "generationConfig._responseJsonSchema",
  "generationConfig.responseLogprobs",
]);

export function readRequest(asked: Fields, path: PathParams = {}): Turn {
  const { action = "generateContent" } = path;
  if (!actions.has(action))
    throw new Fault("request.route", `\`:${action.slice(0, 100)}\` is not served here. ${SERVED}.`);
  // A count may be asked for in either form.
  const { generateContentRequest: inner } = camelFields(asked);
  const body = inner == null ? asked : fieldsAt(inner, "generateContentRequest", "a request");
  const fields = camelFields(body);
  const stream = action === "streamGenerateContent";
  const repairs: Decision[] = [];
  const reports: Reports = {
    repair: repairInto(repairs),
    drop: (place, reason) => void repairs.push({ path: place, action: "dropped", reason }),
    change: (place, reason) => void repairs.push({ path: place, action: "changed", reason }),
  };
  const model = modelIn(path, fields);
  if (fields.contents === undefined && (fields.messages ?? fields.input) !== undefined)
    throw invalid("contents", "is missing; this path takes requests of Gemini's API");
  const { items, places } = readContents(fields.contents, reports);
  const system = readSystem(fields.systemInstruction, reports.repair);
  const config = configIn(fields.generationConfig);
  const { params, extra } = readParams(
    geminiTraits,
    { ...fields, generationConfig: config.fields },
    own,
  );
  const { choice, rest, hints } = readToolConfig(fields.toolConfig, reports.repair);
  const { tools, dropped } = readTools(fields.tools);
  const safety = readSafety(fields.safetySettings);
  return {
    dialect: "gemini",
    traits: geminiTraits,
    model,
    items: system === undefined ? items : [system, ...items],
    places: system === undefined ? places : [0, ...places],
    tools,
    toolChoice: choice,
    format: readFormat(config.fields, reports.drop),
    params: { ...readTier(params), ...config.params },
    stream,
    streamForm: stream ? formIn(path) : undefined,
    usageWanted: true,
    extra: {
      dialect: "gemini",
      fields: {
        ...extra,
        ...group(CONFIG, {
          ...fieldsOf(extra[CONFIG]),
          ...group("thinkingConfig", config.thinking),
        }),
        ...group("toolConfig", rest),
        ...safety.fields,
      },
      ...group("hints", { ...group("toolConfig", hints), ...safety.hints }),
    },
    repairs: [...dropped, ...repairs],
    body,
  };
}

/** The name in the path wins. Some clients write the name of the list before it twice. */
function modelIn({ model, collection }: PathParams, fields: Fields): string {
  const name = model ?? optionalTextAt(fields.model, "model");
  const bare = readModel(name).replace(/^models\//, "");
  return collection === undefined ? readModel(bare) : `${collection}/${bare}`;
}

/** The form of a stream: SSE, or a list if the query does not ask for that. */
function formIn(path: PathParams): string | undefined {
  const query = new URLSearchParams(path["?"] ?? "");
  // Google's older libraries append how enumerations are encoded: `json;enum-encoding=int`.
  const [alt] = (query.get("alt") ?? query.get("$alt") ?? "json").split(";");
  if (alt !== "sse" && alt !== "json") throw invalid("alt", "must be `sse` or `json`");
  return alt === "sse" ? undefined : "array";
}

function readSystem(raw: unknown, repair: Repair): Item | undefined {
  const parts = readInstructions(raw, "systemInstruction", repair);
  return parts.length === 0
    ? undefined
    : { type: "message", role: "system", parts, instructions: true };
}

type Config = {
  /** The fields for the table of parameters, and those of the format. */
  readonly fields: Fields;
  /** Parameters that this dialect writes in another form. */
  readonly params: Params;
  /** Unknown fields of the group for thinking. */
  readonly thinking: Fields;
};

const CONFIG = "generationConfig";

function configIn(raw: unknown): Config {
  if (raw == null) return { fields: {}, params: {}, thinking: {} };
  const { thinkingConfig, ...rest } = camelFieldsAt(raw, CONFIG, "an object");
  const fields: Record<string, unknown> = given(rest);
  for (const key in fields) fields[key] = numberIn(fields[key]);
  const { responseModalities: words, responseLogprobs } = fields;
  const where = `${CONFIG}.responseModalities`;
  if (words !== undefined)
    fields.responseModalities = optionalListOf(words, where, "text").map((word, at) =>
      textAt(word, `${where}[${at}]`).toLowerCase(),
    );
  if (optionalFlagAt(responseLogprobs, `${CONFIG}.responseLogprobs`) === true)
    fields.logprobs ??= 0;
  return { fields, ...readThinking(thinkingConfig) };
}

const THINKING = `${CONFIG}.thinkingConfig`;

/** Budgets of tokens below which an effort is meant; -1 leaves it to the model. */
const budgets = [
  { effort: undefined, below: 0 },
  { effort: "none", below: 1 },
  { effort: "low", below: 4_096 },
  { effort: "medium", below: 16_384 },
  { effort: "high", below: Infinity },
] as const;

const levels = ["MINIMAL", "LOW", "MEDIUM", "HIGH", "THINKING_LEVEL_UNSPECIFIED"] as const;

function readThinking(raw: unknown): Pick<Config, "params" | "thinking"> {
  if (raw == null) return { params: {}, thinking: {} };
  const { includeThoughts, thinkingBudget, thinkingLevel, ...rest } = camelFieldsAt(
    raw,
    THINKING,
    "an object",
  );
  const isShown = optionalFlagAt(includeThoughts, `${THINKING}.includeThoughts`) === true;
  const budget = Number(numberIn(thinkingBudget ?? -1));
  if (!(Number.isSafeInteger(budget) && budget >= -1))
    throw invalid(`${THINKING}.thinkingBudget`, "must be a whole number of at least -1");
  const level =
    thinkingLevel == null
      ? undefined
      : readWord(thinkingLevel, levels, `${THINKING}.thinkingLevel`);
  const effort =
    level === undefined || level === "THINKING_LEVEL_UNSPECIFIED"
      ? budgets.find(({ below }) => budget < below)?.effort
      : level.toLowerCase();
  const params = given({
    effort,
    thinkingBudget: budget > 0 ? budget : undefined,
    reasoningSummary: isShown ? ("auto" as const) : undefined,
  });
  return { params, thinking: given(rest) };
}

const group = (key: string, fields: Fields): Fields =>
  Object.keys(fields).length === 0 ? {} : { [key]: fields };

/** Thresholds that turn filters off: nothing is lost where there are none. */
const open: ReadonlySet<unknown> = new Set(["OFF", "BLOCK_NONE"]);

function readSafety(raw: unknown): { readonly fields?: Fields; readonly hints?: Fields } {
  const safetySettings = optionalListOf(raw, "safetySettings");
  if (safetySettings.length === 0) return {};
  const isOpen = safetySettings.every((one) => open.has(fieldsOf(one)?.threshold));
  return isOpen ? { hints: { safetySettings } } : { fields: { safetySettings } };
}

const tiers: Readonly<Record<string, string>> = { standard: "default" };

function readTier({ serviceTier, ...params }: Params): Params {
  if (serviceTier === undefined) return params;
  const tier = serviceTier.toLowerCase().replace(/^service_tier_/, "");
  return tier === "unspecified" ? params : { ...params, serviceTier: tiers[tier] ?? tier };
}

/** Reads the type of the answer and its schema. The API holds the model to a schema. */
function readFormat(config: Fields, drop: Repair): Format | undefined {
  const type = optionalTextAt(config.responseMimeType, `${CONFIG}.responseMimeType`) ?? "";
  let found: Format | undefined;
  for (const key of ["responseJsonSchema", "_responseJsonSchema", "responseSchema"] as const) {
    if (config[key] == null || type === "text/x.enum") continue;
    const schema = readSchema(config[key], `${CONFIG}.${key}`);
    const title = isFields(schema) ? filledText(schema.title) : undefined;
    const name = title?.replaceAll(/[^\w-]/g, "_").slice(0, 64) ?? "answer";
    if (found !== undefined) drop(`${CONFIG}.${key}`, ONE_SCHEMA);
    found ??= { type: "schema", name, schema, strict: true };
  }
  if (found !== undefined) return found;
  switch (type) {
    case "":
      return undefined;
    case "text/plain":
      return { type: "text" };
    case "application/json":
      return { type: "json" };
    default: {
      const { responseMimeType, responseSchema } = config;
      return {
        type: "opaque",
        dialect: "gemini",
        raw: given({ responseMimeType, responseSchema }),
      };
    }
  }
}
