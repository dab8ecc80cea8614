import type { Body } from "../fake-upstream.ts";
import type { StrictModel } from "./models.ts";
import { blocksOf, listOf, refuse } from "./refuse.ts";
import { checkStrict } from "./tools.ts";

const fields = new Set([
  "model",
  "messages",
  "max_tokens",
  "system",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
  "stop_sequences",
  "temperature",
  "top_p",
  "top_k",
  "metadata",
  "service_tier",
  "cache_control",
  "stream",
  "container",
  "context_management",
  "mcp_servers",
]);

/** Every field beside the conversation and the tools. */
export function checkSettings(body: Body, model: StrictModel): void {
  for (const key of Object.keys(body))
    if (!fields.has(key)) refuse(`${key}: Extra inputs are not permitted`);
  const most = body["max_tokens"] as number | undefined;
  if (most === undefined) return refuse("max_tokens: Field required");
  if (!Number.isInteger(most) || most < 1)
    refuse("max_tokens: Input should be greater than or equal to 1");
  if (most > model.maxTokens)
    refuse(
      `max_tokens: ${most} > ${model.maxTokens}, which is the maximum allowed number of output tokens for ${String(body["model"])}`,
    );
  checkThinking(body, most, model);
  checkSampling(body, model);
  checkFormat(body);
  checkScalars(body);
}

const isThinking = (body: Body): boolean =>
  !["disabled", undefined].includes(
    (body["thinking"] as Body | undefined)?.["type"] as string | undefined,
  );

function checkThinking(body: Body, most: number, model: StrictModel): void {
  const thinking = (body["thinking"] ?? {}) as Body;
  const { type } = thinking;
  if (type !== undefined && !model.thinking.includes(type as string))
    refuse(`thinking.type: "${String(type)}" is not supported on this model`);
  if (type === "enabled") {
    const budget = thinking["budget_tokens"] as number;
    if (!(budget >= 1024))
      refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024");
    if (budget >= most) refuse("`max_tokens` must be greater than `thinking.budget_tokens`");
  } else if (thinking["budget_tokens"] !== undefined)
    refuse(`thinking.${String(type)}.budget_tokens: Extra inputs are not permitted`);
  const effort = (body["output_config"] as Body | undefined)?.["effort"] as string | undefined;
  if (effort !== undefined && !model.efforts.includes(effort))
    refuse(`output_config.effort: "${effort}" is not supported on this model`);
  if (type === "disabled" && ["xhigh", "max"].includes(effort ?? ""))
    refuse("thinking: cannot be disabled at this effort");
  if (model.leads && isThinking(body) && lacksThought(listOf(body["messages"])))
    refuse(
      "messages: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block",
    );
}

/** Whether the tool loop that goes on does not begin with a thought. */
function lacksThought(messages: readonly Body[]): boolean {
  const isAnswer = ({ role, content }: Body): boolean =>
    role === "user" && blocksOf(content).some(({ type }) => type === "tool_result");
  const last = messages.at(-1);
  if (last === undefined || !isAnswer(last)) return false;
  const start = messages.findLastIndex((one) => one["role"] === "user" && !isAnswer(one));
  const first = messages.slice(start + 1).find(({ role }) => role === "assistant");
  const type = blocksOf(first?.["content"])[0]?.["type"] as string | undefined;
  return type !== "thinking" && type !== "redacted_thinking";
}

function checkSampling(body: Body, model: StrictModel): void {
  const { temperature, top_p, top_k } = body;
  const given = [temperature, top_p, top_k].filter((one) => one !== undefined);
  if (model.sampling === "none" && given.length > 0)
    refuse("`temperature`, `top_p` and `top_k` are not supported on this model");
  if (temperature !== undefined && !(temperature >= 0 && temperature <= 1))
    refuse("temperature: Input should be less than or equal to 1");
  if (top_p !== undefined && !(top_p >= 0 && top_p <= 1))
    refuse("top_p: Input should be less than or equal to 1");
  if (model.sampling === "one" && temperature !== undefined && top_p !== undefined)
    refuse("`temperature` and `top_p` cannot both be specified for this model");
  if (!isThinking(body)) return;
  if (temperature !== undefined && temperature !== 1)
    refuse("`temperature` may only be set to 1 when thinking is enabled");
  if (top_k !== undefined) refuse("`top_k` must be unset when thinking is enabled");
  if (top_p !== undefined && top_p < 0.95)
    refuse("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled");
}

function checkFormat(body: Body): void {
  const config = (body["output_config"] ?? {}) as Body;
  for (const key of Object.keys(config))
    if (!["effort", "format", "task_budget"].includes(key))
      refuse(`output_config.${key}: Extra inputs are not permitted`);
  const format = config["format"] as Body | undefined;
  if (format === undefined) return;
  for (const key of Object.keys(format))
    if (key !== "type" && key !== "schema")
      refuse(`output_config.format.${key}: Extra inputs are not permitted`);
  if (format["type"] !== "json_schema")
    refuse("output_config.format.type: Input should be 'json_schema'");
  checkStrict(format["schema"], "output_config.format.schema");
}

function checkScalars(body: Body): void {
  for (const text of listOf(body["stop_sequences"]) as unknown[])
    if (typeof text !== "string" || text.trim() === "")
      refuse("stop_sequences: each stop sequence must contain non-whitespace");
  const metadata = (body["metadata"] ?? {}) as Body;
  for (const key of Object.keys(metadata))
    if (key !== "user_id") refuse(`metadata.${key}: Extra inputs are not permitted`);
  if (String(metadata["user_id"] ?? "").length > 256)
    refuse("metadata.user_id: String should have at most 256 characters");
  const tier = body["service_tier"] as string | undefined;
  if (tier !== undefined && tier !== "auto" && tier !== "standard_only")
    refuse("service_tier: Input should be 'auto' or 'standard_only'");
}
