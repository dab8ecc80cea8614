import type { Answer } from "../../stream/fold.ts";
import { isCut, type StopReason, type TurnStart, type Usage } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import { isInstructions } from "../../turn/item.ts";
import type { ClientName } from "../../turn/names.ts";
import { SHARED_LENGTH, type SharedText } from "../../turn/shared-text.ts";
import type { Extra, Fields, Format, Reasoning, Turn } from "../../turn/turn.ts";
import type { KeptAnswer, WriteContext } from "../dialect.ts";
import { faultBody } from "../errors/fault-body.ts";
import { isReportable, losePause, lossReporter, type OnLoss } from "../shared/losses.ts";
import { filledText } from "../shared/loose.ts";
import { writeFormat } from "../shared/openai-content.ts";
import { responsesForm } from "../shared/openai-form.ts";
import { writeToolChoice } from "../shared/openai-tools.ts";
import { echoText } from "./tools.ts";
import { itemIdPrefix, itemId, outputItemText } from "./items.ts";

/** The fields of a response that change while it is made. */
export type Progress = {
  readonly status: "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";
  /** The items that are closed, as JSON text. */
  readonly output?: readonly string[] | undefined;
  readonly usage?: Usage | undefined;
  readonly stop?: StopReason | undefined;
  readonly fault?: Fault | undefined;
  readonly completedAt?: number | undefined;
};

/** Writes the response object at any moment of one turn. */
export class ResponseObject {
  readonly #context: WriteContext;
  /** The fields that do not change, without the closing brace. */
  readonly #head: string;
  readonly #tools: SharedText;
  #last: Progress | undefined;
  #lastText = "";

  constructor(
    turn: Turn,
    start: Pick<TurnStart, "dialect" | "id" | "model" | "created" | "extra">,
    context: WriteContext,
  ) {
    this.#context = context;
    const { params, gatewayFields } = turn;
    const { id, model = turn.model, created, extra } = start;
    const fields: Record<string, unknown> = {
      id: (start.dialect === "responses" && id) || context.id,
      object: "response",
      // Some send milliseconds or nothing real; the API has whole seconds.
      created_at:
        Number.isInteger(created) && Number(created) > 0 && Number(created) < 1e11
          ? created
          : context.created,
      model,
      // The request as the answer repeats it, with the API's defaults for what was left out.
      instructions: instructionsOf(turn) ?? null,
      tool_choice:
        turn.toolChoice === undefined ? "auto" : writeToolChoice(turn.toolChoice, responsesForm),
      text: { format: echoFormat(turn.format), verbosity: params.verbosity },
      reasoning: { effort: params.effort ?? null, summary: params.reasoningSummary ?? null },
      parallel_tool_calls: params.parallelCalls ?? true,
      truncation: params.truncation ?? "disabled",
      temperature: params.temperature ?? 1,
      top_p: params.topP ?? 1,
      presence_penalty: params.presencePenalty ?? 0,
      frequency_penalty: params.frequencyPenalty ?? 0,
      top_logprobs: params.logprobs ?? 0,
      max_output_tokens: params.maxTokens ?? null,
      max_tool_calls: params.maxCalls ?? null,
      previous_response_id: params.previousResponse ?? null,
      store: params.store ?? true,
      background: params.background ?? false,
      // `auto` lets the upstream choose; unless the answer names its choice, that is the usual tier.
      service_tier: (params.serviceTier === "auto" ? undefined : params.serviceTier) ?? "default",
      metadata: params.metadata ?? {},
      safety_identifier: params.safetyIdentifier ?? null,
      prompt_cache_key: params.cacheKey ?? null,
      user: params.user,
      prompt: params.prompt,
      prompt_cache_retention: params.cacheRetention,
    };
    if (extra !== undefined) Object.assign(fields, upstreamFields(start.dialect, extra));
    if (gatewayFields !== undefined) Object.assign(fields, gatewayFields);
    this.#head = JSON.stringify(fields).slice(0, -1);
    this.#tools = echoText(turn.tools);
  }

  /** The response as its client is shown it. */
  shown(progress: Progress): string {
    const output = progress.output?.join(",") ?? "";
    return `${this.#head},"tools":${this.#tools.text},"status":"${progress.status}","output":[${output}],${this.#textOf(progress)}`;
  }

  /** The response as it is stored: without its items, and with long tools apart. */
  kept(progress: Progress): Omit<KeptAnswer, "items"> {
    const rest = `,"status":"${progress.status}",${this.#textOf(progress)}`;
    const tools = this.#tools;
    return tools.text.length < SHARED_LENGTH
      ? { json: `${this.#head},"tools":${tools.text}${rest}` }
      : { json: this.#head + rest, shared: tools };
  }

  /** Hands a finished response to the store. */
  record(progress: Progress): void {
    if (this.#context.record === undefined) return;
    const { json, shared } = this.kept(progress);
    this.#context.record(json, shared);
  }

  /** The last progress is both shown and stored. */
  #textOf(progress: Progress): string {
    if (progress === this.#last) return this.#lastText;
    this.#last = progress;
    const { status, stop, fault, usage, completedAt } = progress;
    const reason = stop === "filter" ? "content_filter" : "max_output_tokens";
    const cut = status === "incomplete" ? `{"reason":"${reason}"}` : "null";
    const error = fault === undefined ? "null" : errorText(fault);
    const counts = usage === undefined ? "null" : JSON.stringify(writeUsage(usage));
    return (this.#lastText = `"completed_at":${completedAt ?? "null"},"incomplete_details":${cut},"error":${error},"usage":${counts}}`);
  }
}

export const writeUsage = (usage: Usage): Fields => ({
  input_tokens: usage.input,
  input_tokens_details: { cached_tokens: usage.cached ?? 0, cache_write_tokens: usage.cacheWrite },
  output_tokens: usage.output,
  output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  total_tokens: usage.total,
});

/** The format as an answer repeats it: with what was left out. */
function echoFormat(format: Format | undefined): Fields {
  const written = (format && writeFormat(format, responsesForm)) ?? { type: "text" };
  return format?.type === "schema" ? { description: null, strict: false, ...written } : written;
}

function instructionsOf({ items: [first] }: Turn): string | undefined {
  if (first === undefined || !isInstructions(first)) return undefined;
  return first.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Fields that the client decides; an upstream repeats the request it was sent, which may differ. */
const clients = new Set([
  "text",
  "metadata",
  "previous_response_id",
  "conversation",
  "prompt",
  "user",
  "safety_identifier",
  "prompt_cache_key",
]);

/** The fields in which the upstream reports how it made the answer. */
function upstreamFields(dialect: string | undefined, extra: Fields): Fields {
  const fields: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(extra))
    if (dialect === "responses" ? value !== null && !clients.has(key) : key === "service_tier")
      fields[key] = value;
  if (dialect !== "responses" && typeof fields.service_tier !== "string") return {};
  if (typeof fields.reasoning === "object")
    fields.reasoning = { effort: null, summary: null, ...fields.reasoning };
  return fields;
}

function errorText(fault: Fault): string {
  const { code, message } = faultBody(fault).error;
  return JSON.stringify({ code, message });
}

export const statusOf = (stop: StopReason): "completed" | "incomplete" =>
  isCut(stop) ? "incomplete" : "completed";

/** An answer whose client left, or that was cancelled, did not fail. */
export const failedStatus = ({ code }: Fault): "failed" | "cancelled" =>
  code === "client.left" || code === "response.cancelled" ? "cancelled" : "failed";

/** Reports vendor fields of an answer in another dialect. */
export function loseExtra(
  { dialect, fields }: Omit<Extra, "hints">,
  choice: number,
  lose: OnLoss,
): void {
  if (dialect === "responses") return;
  for (const [key, value] of Object.entries(fields))
    if (isReportable(key, value)) lose(`\`${key}\``, choice);
}

/** Reports the signature of reasoning in another dialect. Sealed reasoning carries it along. */
export function loseSignature({ details, extra }: Reasoning, lose: OnLoss): void {
  if (details !== undefined) lose("`reasoning_details`", 0);
  if (extra !== undefined) loseExtra(extra, 0, lose);
}

/** Reports an item of another API, which clients do not know. */
export const loseItem = (
  { raw, choice = 0 }: { readonly raw: Fields; readonly choice?: number },
  lose: OnLoss,
): void => lose(`\`${filledText(raw.type) ?? "item"}\``, choice);

/** The response object of a whole answer. It has one choice; of several the first is shown. */
export function writeAnswer(answer: Answer<ClientName>, turn: Turn, context: WriteContext): string {
  const [choice] = answer.choices;
  const { usage, fault } = answer;
  const stop = choice?.stop ?? "end";
  const status = fault === undefined ? statusOf(stop) : failedStatus(fault);
  const output: string[] = [];
  const lose = lossReporter("responses", context.report);
  const { dialect = "responses", extra: fields } = answer;
  if (fields !== undefined) loseExtra({ dialect, fields }, 0, lose);
  losePause({ choice: 0, stop }, lose);
  for (const extra of choice?.vendorExtras ?? []) loseExtra(extra, 0, lose);
  if (choice?.choiceExtra !== undefined) loseExtra(choice.choiceExtra, 0, lose);
  for (const item of choice?.items ?? []) {
    if (item.type === "reasoning") loseSignature(item, lose);
    const id = itemId(item) ?? context.newId(itemIdPrefix(item));
    if (item.type === "opaque" && item.dialect !== "responses") {
      loseItem(item, lose);
      continue;
    }
    const text = outputItemText(item, id);
    if (text === undefined) continue;
    output.push(text);
    context.keep?.(id, text);
  }
  const completedAt = status === "completed" ? context.now() : undefined;
  const progress: Progress = { status, output, stop, usage, fault, completedAt };
  const response = new ResponseObject(turn, answer, context);
  response.record(progress);
  return response.shown(progress);
}
