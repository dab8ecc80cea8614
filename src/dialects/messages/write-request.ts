import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Fields, Params, Turn } from "../../turn/turn.ts";
import type { Target, WrittenRequest } from "../dialect.ts";
import { fieldsOf, listOf, numberOf } from "../shared/loose.ts";
import { addFields, paramPath, writeExtra, writeParams } from "../shared/params.ts";
import { forwardedText, withTools } from "../shared/source-text.ts";
import { writeChoice, writeTools } from "./tools.ts";
import { type Thinking, writeFormat, writeThinking, writeTier } from "./thinking.ts";
import { messagesTraits } from "./traits.ts";
import { writeMessages } from "./write-messages.ts";

/** The limit if neither client nor profile has one. */
const MAX_TOKENS = 16_384;
/** The API refuses a higher limit without streaming, because the connection would be silent too long. */
const MOST_UNSTREAMED = 21_333;

type Body = Record<string, unknown>;

export function writeRequest(turn: Turn<UpstreamName>, to: Target): WrittenRequest {
  const { headers } = turn;
  const { text, decisions } = to.straight
    ? { text: forwardedText(turn, to), decisions: [] }
    : translate(turn, to);
  // The version and the betas of a client of this dialect belong to its request.
  return { text, decisions, ...(turn.dialect === "messages" && headers && { headers }) };
}

function translate(turn: Turn<UpstreamName>, { profile, model }: Target): WrittenRequest {
  const limits: Decision[] = [];
  const maxTokens = limitFor(turn, profile, limits);
  const asked = writeThinking({ turn, profile, maxTokens });
  const isPrefillTaken = takesPrefill(turn, profile, asked.thinking);
  const { system, messages, decisions } = writeMessages(turn, profile, isPrefillTaken);
  append(decisions, limits);
  const { parallelCalls, effort: _e, thinking: _t, thinkingBudget: _b, ...others } = turn.params;
  const { reasoningSummary: _s, maxTokens: _m, serviceTier, ...params } = others;
  const written = writeParams(
    {
      ...turn,
      params: withUser(withTier(params, serviceTier, turn, decisions), turn, profile, decisions),
    },
    { name: "messages", traits: messagesTraits },
    profile,
  );
  append(decisions, written.decisions);
  const body: Body = { model, max_tokens: maxTokens, messages, ...written.fields };
  if (system.length > 0) body.system = system;
  if (turn.stream || maxTokens > MOST_UNSTREAMED) body.stream = true;
  append(decisions, askToThink(body, turn, profile, asked));
  append(decisions, fitSampling(body, turn, profile));
  append(decisions, askForFormat(body, turn));
  const tools = writeTools(turn.tools);
  for (const reason of tools.reasons) decisions.push({ path: "tools", action: "dropped", reason });
  if (tools.text !== undefined) append(decisions, choose(body, turn, parallelCalls));
  append(decisions, writeExtra(turn, "messages", body));
  addFields(body, profile);
  // Clients of other dialects expect prefixes to be cached without a mark.
  if (profile.cacheMark !== undefined && turn.dialect !== "messages")
    body.cache_control ??= profile.cacheMark;
  // The path replaces fields, and a hosting service may not know some.
  for (const key of profile.route?.without ?? []) delete body[key];
  const text = tools.text === undefined ? JSON.stringify(body) : withTools(body, tools.text);
  return { text, decisions };
}

/** Leaves out a tier that the API does not have, with a decision, because price and speed differ. */
function withTier(
  params: Params,
  tier: string | undefined,
  { traits }: Turn<UpstreamName>,
  decisions: Decision[],
): Params {
  if (tier === undefined) return params;
  const word = writeTier(tier);
  if (word !== undefined) return { ...params, serviceTier: word };
  const reason = `the messages dialect has no tier \`${tier}\``;
  decisions.push({ path: paramPath("serviceTier", traits), action: "dropped", reason });
  return params;
}

/** A model that thinks, or is held to a format, begins its answer itself. */
const takesPrefill = (
  { format }: Turn<UpstreamName>,
  { history }: Profile,
  thinking: Fields | undefined,
): boolean =>
  history?.prefill !== false &&
  (format === undefined || format.type === "text") &&
  (thinking === undefined || thinking.type === "disabled");

/** The user, truncated to the length that the upstream takes. */
function withUser(
  params: Params,
  { traits }: Turn<UpstreamName>,
  { maxUser = Infinity }: Profile,
  decisions: Decision[],
): Params {
  const { user } = params;
  if (user === undefined || user.length <= maxUser) return params;
  const reason = `the upstream takes ${maxUser} characters`;
  decisions.push({ path: paramPath("user", traits), action: "changed", reason });
  return { ...params, user: user.slice(0, maxUser) };
}

/** The API wants a limit in every request. */
function limitFor(turn: Turn<UpstreamName>, profile: Profile, decisions: Decision[]): number {
  const { maxTokens: asked } = turn.params;
  const { maxTokens: most } = profile;
  if (asked === undefined) return most ?? MAX_TOKENS;
  if (most === undefined || asked <= most) return asked;
  const path = paramPath("maxTokens", turn.traits);
  decisions.push({ path, action: "changed", reason: `the model gives ${most} tokens at most` });
  return most;
}

function askToThink(
  body: Body,
  turn: Turn<UpstreamName>,
  profile: Profile,
  { thinking, effort, decisions }: Thinking,
): readonly Decision[] {
  if (effort !== undefined) body.output_config = { ...fieldsOf(body.output_config), effort };
  if (thinking === undefined) return decisions;
  body.thinking = thinking;
  if (profile.thinking?.leads !== true || thinking.type === "disabled") return decisions;
  if (!lacksThought(body.messages)) return decisions;
  body.thinking = { type: "disabled" };
  const reason = "what was thought before the last calls is not known, and the model wants it back";
  const path = paramPath(turn.params.thinking === undefined ? "effort" : "thinking", turn.traits);
  return [...decisions, { path, action: "changed", reason }];
}

/** True if a turn that continues with results did not begin with a thought. */
function lacksThought(messages: unknown): boolean {
  const list = (listOf(messages) ?? []).map((one) => fieldsOf(one) ?? {});
  const blocksOf = (message: Fields): readonly Fields[] =>
    (listOf(message.content) ?? []).map((one) => fieldsOf(one) ?? {});
  const isResult = (block: Fields): boolean => block.type === "tool_result";
  // The turn of the model began after the last message of the user without results.
  const start = list.findLastIndex(
    (message) => message.role === "user" && !blocksOf(message).some(isResult),
  );
  const first = list.slice(start + 1).find(({ role }) => role === "assistant");
  const [block] = first === undefined ? [] : blocksOf(first);
  return block !== undefined && block.type !== "thinking" && block.type !== "redacted_thinking";
}

/** Fits sampling into the limits of the API; a model that thinks takes none. */
function fitSampling(body: Body, turn: Turn<UpstreamName>, profile: Profile): Decision[] {
  const decisions: Decision[] = [];
  const isThinking = body.thinking !== undefined && fieldsOf(body.thinking)?.type !== "disabled";
  const drop = (key: string, name: "temperature" | "topP" | "topK", reason: string): void => {
    if (body[key] === undefined) return;
    const isIdle = body[key] === 1;
    delete body[key];
    if (!isIdle) decisions.push({ path: paramPath(name, turn.traits), action: "dropped", reason });
  };
  if (isThinking) {
    const reason = "a model that thinks takes no sampling parameters";
    drop("temperature", "temperature", reason);
    drop("top_k", "topK", reason);
    if ((numberOf(body.top_p) ?? 1) < 0.95) drop("top_p", "topP", reason);
  }
  if (profile.exclusiveSampling === true && body.temperature !== undefined)
    drop("top_p", "topP", "the model takes one of temperature and top_p");
  if ((numberOf(body.temperature) ?? 0) > 1) {
    body.temperature = 1;
    const reason = "the highest temperature of the messages dialect is 1";
    decisions.push({ path: paramPath("temperature", turn.traits), action: "changed", reason });
  }
  const stops = listOf(body.stop_sequences);
  if (stops?.some(isBlankText) === true)
    body.stop_sequences = stops.filter((one) => !isBlankText(one));
  return decisions;
}

const isBlankText = (value: unknown): boolean => typeof value === "string" && value.trim() === "";

function askForFormat(body: Body, { format, traits }: Turn<UpstreamName>): Decision[] {
  if (format === undefined || format.type === "text") return [];
  const written = writeFormat(format);
  if (written === undefined) {
    const reason = "the messages dialect has no such format";
    return [{ path: traits.format.path, action: "dropped", reason }];
  }
  body.output_config = { ...fieldsOf(body.output_config), format: written };
  return [];
}

/** A model that thinks cannot be forced to call a tool. */
function choose(
  body: Body,
  { toolChoice: choice }: Turn<UpstreamName>,
  parallel: boolean | undefined,
): Decision[] {
  const isForced = choice?.type === "required" || choice?.type === "tool";
  const thinking = fieldsOf(body.thinking)?.type;
  const isThinking = thinking !== undefined && thinking !== "disabled";
  const written = writeChoice(isForced && isThinking ? { type: "auto" } : choice, parallel);
  if (written !== undefined) body.tool_choice = written;
  if (!isForced || !isThinking) return [];
  const reason = "a model that thinks cannot be forced to call a tool";
  return [{ path: "tool_choice", action: "changed", reason }];
}
