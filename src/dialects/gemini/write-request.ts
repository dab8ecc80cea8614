/** Writes turns as requests of Gemini's API. */

import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { HistoryRule, Profile } from "../../turn/profile.ts";
import type { Params, Turn } from "../../turn/turn.ts";
import type { Correction, Target, WrittenRequest } from "../dialect.ts";
import { fieldsOf, listOf, numberOf } from "../shared/loose.ts";
import { addFields, paramPath, writeExtra, writeParams } from "../shared/params.ts";
import { bodyWith, withTools } from "../shared/source-text.ts";
import { geminiTraits } from "./traits.ts";
import { ownGeminiExtra } from "./wire.ts";
import { writeContents, type WrittenContents } from "./write-contents.ts";
import { type NoteParam, writeThinking } from "./write-thinking.ts";
import { offeredTools, writeChoice, writeTools } from "./write-tools.ts";

type Body = Record<string, unknown>;

export function writeRequest(turn: Turn<UpstreamName>, to: Target): WrittenRequest {
  const { profile } = to;
  const written = writeContents(turn, profile);
  // The client's own body would be refused if its contents had to change.
  if (to.straight && turn.continuation === undefined && written.decisions.length === 0) {
    // The model is in the path, and so is the form of the answer.
    const changes: Body = {};
    addFields(changes, profile, turn.body);
    const text = bodyWith(turn.body, changes);
    if (!emptyPart.test(text)) return { text, decisions: [] };
  }
  return translate(turn, profile, written);
}

/**
 * Regions of Vertex AI refused ids until 2026, and signatures are refused by all but the model that
 * made them: a client of this API has no seals that tell who that was.
 */
export function correct(refusal: string, profile: Profile): Correction | undefined {
  const { history } = profile;
  const without = (rule: HistoryRule, what: string, lasts: boolean): Correction => ({
    profile: { ...profile, history: { ...history, ...rule } },
    lasts,
    reason: `the upstream refused ${what}, so the request was sent again without them`,
  });
  if (refusal.includes('Unknown name "id"') && history?.callIds !== false)
    return without({ callIds: false }, "the ids of calls", true);
  if (!WRONG_SIGNATURE.test(refusal) || history?.signatures === false) return undefined;
  return without({ signatures: false }, "the signatures of reasoning", false);
}
const WRONG_SIGNATURE =
  /corrupted thought signature|thought signature is not valid|thought_signature.*base64/i;

/** A part that Vertex AI refuses; the SDKs' chats have such parts in their history. */
const emptyPart = /\{\s*"text"\s*:\s*""\s*\}/;

function translate(
  turn: Turn<UpstreamName>,
  profile: Profile,
  { system, contents, decisions }: WrittenContents,
): WrittenRequest {
  const body: Body = { contents };
  if (system.length > 0) body.systemInstruction = { parts: system };
  const note: NoteParam = (name, action, reason) =>
    void decisions.push({ path: paramPath(name, turn.traits), action, reason });
  const thinkingConfig = writeThinking(turn, profile, note);
  const written = writeParams(
    { ...turn, params: plainParams(turn) },
    { name: "gemini", traits: geminiTraits },
    profile,
  );
  append(decisions, written.decisions);
  const { generationConfig, ...others } = written.fields;
  Object.assign(body, others);
  writeTier(body, turn, profile, note);
  const config: Body = { ...fieldsOf(generationConfig) };
  if (thinkingConfig !== undefined) config.thinkingConfig = thinkingConfig;
  fitConfig(config, turn, profile, note);
  const isFormatted = turn.format?.type === "json" || turn.format?.type === "schema";
  const offered = isFormatted ? offeredTools(turn) : turn.tools;
  const tools = writeTools(offered, profile.tools.schema);
  for (const reason of tools.reasons) decisions.push({ path: "tools", action: "dropped", reason });
  const choice = writeChoice(turn, tools, isFormatted, decisions);
  const toolText = choice.isNone ? tools.functions : tools.all;
  const isMixed = tools.functions !== undefined && tools.hasBuiltins && !choice.isNone;
  if (toolText !== undefined) {
    const toolConfig: Body = {};
    if (choice.config !== undefined) toolConfig.functionCallingConfig = choice.config;
    if (isMixed && profile.tools.mixed === "declared")
      toolConfig.includeServerSideToolInvocations = true;
    if (Object.keys(toolConfig).length > 0) body.toolConfig = toolConfig;
  }
  askForFormat(config, turn, choice.config?.mode === "ANY", decisions);
  if (Object.keys(config).length > 0) body.generationConfig = config;
  append(decisions, writeExtra(turn, "gemini", body));
  if (!isFormatted) keepValidation(body, turn);
  addFields(body, profile);
  const { continuationToken } = ownGeminiExtra(turn.continuation);
  if (continuationToken !== undefined) body.continuationToken = continuationToken;
  for (const key of profile.route?.without ?? []) delete body[key];
  const text = toolText === undefined ? JSON.stringify(body) : withTools(body, toolText);
  return { text, decisions };
}

/** A client of this API may have asked that arguments follow their schemas. */
function keepValidation(body: Body, { extra }: Turn<UpstreamName>): void {
  const asked = fieldsOf(fieldsOf(ownGeminiExtra(extra).toolConfig)?.functionCallingConfig);
  const config = fieldsOf(body.toolConfig);
  const calling = fieldsOf(config?.functionCallingConfig);
  if (calling?.mode === "AUTO" && asked?.mode === "VALIDATED")
    body.toolConfig = { ...config, functionCallingConfig: { ...calling, mode: "VALIDATED" } };
}

/** Parameters that are written apart, or that have no field. */
const apart: ReadonlySet<string> = new Set([
  "effort",
  "thinking",
  "thinkingBudget",
  "reasoningSummary",
  "serviceTier",
  "parallelCalls",
]);

/** The parameters that have one field each. Clients of other dialects mean another store. */
const plainParams = ({ params, dialect }: Turn<UpstreamName>): Params =>
  Object.fromEntries(
    Object.entries(params).filter(
      ([name]) => !apart.has(name) && (name !== "store" || dialect === "gemini"),
    ),
  );

const tiers = new Map(
  Object.entries({ flex: "flex", priority: "priority", default: "standard", standard: "standard" }),
);

function writeTier(
  body: Body,
  { params }: Turn<UpstreamName>,
  profile: Profile,
  note: NoteParam,
): void {
  const { serviceTier: asked } = params;
  if (asked === undefined || asked === "auto") return;
  const tier = tiers.get(asked);
  if (tier !== undefined && profile.params.serviceTier !== null) body.serviceTier = tier;
  else note("serviceTier", "dropped", `the ${profile.name} profile has no tier \`${asked}\``);
}

const HOTTEST = 2;
/** A model that thinks within so few tokens may not get to its answer. */
const FEW_TOKENS = 1024;

/** Fits parameters into the limits of the API. */
function fitConfig(
  config: Body,
  { params }: Turn<UpstreamName>,
  profile: Profile,
  note: NoteParam,
): void {
  if ((numberOf(config.temperature) ?? 0) > HOTTEST) {
    config.temperature = HOTTEST;
    note("temperature", "changed", `the highest temperature of the gemini dialect is ${HOTTEST}`);
  }
  const stops = listOf(config.stopSequences)?.filter((one) => one !== "");
  if (stops !== undefined) {
    const { maxStops = Infinity } = profile;
    config.stopSequences = stops.slice(0, maxStops);
    if (stops.length === 0) delete config.stopSequences;
    else if (stops.length > maxStops)
      note(
        "stop",
        "reshaped",
        `the upstream takes ${maxStops} stop sequences, and the gateway ends the answer at the others`,
      );
  }
  if (config.logprobs !== undefined) {
    config.responseLogprobs = true;
    if (config.logprobs === 0) delete config.logprobs;
  }
  const modalities = listOf(config.responseModalities);
  if (modalities !== undefined)
    config.responseModalities = modalities.map((one) => String(one).toUpperCase());
  const isThinking = profile.reasons === true && params.effort !== "none";
  if (isThinking && (numberOf(config.maxOutputTokens) ?? FEW_TOKENS) < FEW_TOKENS)
    note(
      "maxTokens",
      "noticed",
      "thoughts count against this limit, so the answer may end before its first word",
    );
}

/** A forced call leaves no text that a format could hold to. */
function askForFormat(
  config: Body,
  { format, traits }: Turn<UpstreamName>,
  isForced: boolean,
  decisions: Decision[],
): void {
  if (format === undefined || format.type === "text") return;
  const { path } = traits.format;
  if (format.type === "opaque" && format.dialect === "gemini")
    Object.assign(config, fieldsOf(format.raw));
  else if (format.type === "opaque")
    decisions.push({ path, action: "dropped", reason: "the gemini dialect has no such format" });
  else if (isForced) {
    const reason = "a forced call has no text, so the upstream is not asked for a format";
    decisions.push({ path, action: "repaired", reason });
  } else {
    config.responseMimeType = "application/json";
    if (format.type === "schema") config.responseJsonSchema = format.schema;
  }
}
