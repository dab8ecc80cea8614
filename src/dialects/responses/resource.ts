import type { Answer } from "../../stream/fold.ts";
import { isCut, type StopReason, type TurnStart, type Usage } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import { isInstructions } from "../../turn/item.ts";
import type { ClientName } from "../../turn/names.ts";
import { SHARED_LENGTH } from "../../turn/shared-text.ts";
import type { Extra, Fields, Reasoning, Turn } from "../../turn/turn.ts";
import type { KeptAnswer, WriteContext } from "../dialect.ts";
import { faultBody } from "../errors/fault-body.ts";
import { isReportable, losePause, lossReporter, type OnLoss } from "../shared/losses.ts";
import { given } from "../shared/loose.ts";
import { echoText, writeToolChoice } from "./tools.ts";
import { echoFormat } from "./format.ts";
import { loseItem } from "./write-hosted.ts";
import { idPrefix, itemId, writeOutputItem } from "./items.ts";
import { writeUsage } from "./usage-field.ts";

/** What of a response changes while it is made. */
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
export type ResponseWriter = {
  /** As its client is shown it. */
  shown(progress: Progress): string;
  /** As it is kept: without its items, and with its tools apart if they are long. */
  kept(progress: Progress): Omit<KeptAnswer, "items">;
};

/** Writes what stays the same once. */
export function resource(
  turn: Turn,
  start: Pick<TurnStart, "dialect" | "id" | "model" | "created" | "extra">,
  context: WriteContext,
): ResponseWriter {
  const fixed = JSON.stringify({
    id: (start.dialect === "responses" && start.id) || context.id,
    object: "response",
    created_at:
      start.created !== undefined && isSeconds(start.created) ? start.created : context.created,
    model: start.model ?? turn.model,
    ...echo(turn),
    ...upstreamFields(start),
    ...turn.gatewayFields,
  });
  const head = fixed.slice(0, -1);
  const tools = echoText(turn.tools);
  const progressText = lastText(textOf);
  return {
    shown: (progress) =>
      `${head},"tools":${tools.text},"status":"${progress.status}","output":[${(progress.output ?? []).join(",")}],${progressText(progress)}`,
    kept(progress) {
      const rest = `,"status":"${progress.status}",${progressText(progress)}`;
      if (tools.text.length < SHARED_LENGTH)
        return { json: `${head},"tools":${tools.text}${rest}` };
      return { json: head + rest, shared: tools };
    },
  };
}

/** Writes the same progress once: the last is both shown and kept. */
function lastText(write: (progress: Progress) => string): (progress: Progress) => string {
  let last: Progress | undefined;
  let text = "";
  return (progress) => {
    if (progress !== last) text = write((last = progress));
    return text;
  };
}

const textOf = (progress: Progress): string =>
  JSON.stringify({
    completed_at: progress.completedAt ?? null,
    incomplete_details: incompleteDetails(progress),
    error: progress.fault === undefined ? null : errorOf(progress.fault),
    usage: progress.usage === undefined ? null : writeUsage(progress.usage),
  }).slice(1);

/** The request as the answer repeats it, with the API's defaults for what was left out. */
function echo(turn: Turn): Fields {
  const { params } = turn;
  return {
    instructions: instructionsOf(turn) ?? null,
    tool_choice: turn.toolChoice === undefined ? "auto" : writeToolChoice(turn.toolChoice),
    text: { format: echoFormat(turn.format), ...given({ verbosity: params.verbosity }) },
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
    service_tier: tierOf(params.serviceTier),
    metadata: params.metadata ?? {},
    safety_identifier: params.safetyIdentifier ?? null,
    prompt_cache_key: params.cacheKey ?? null,
    ...given({
      user: params.user,
      prompt: params.prompt,
      prompt_cache_retention: params.cacheRetention,
    }),
  };
}

function instructionsOf(turn: Turn): string | undefined {
  const [first] = turn.items;
  if (first === undefined || !isInstructions(first)) return undefined;
  return first.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** `auto` lets the upstream choose; unless it says what it chose, that is the usual one. */
const tierOf = (asked: string | undefined): string =>
  asked === undefined || asked === "auto" ? "default" : asked;

/** What the client decides; an upstream repeats what it was sent, which may not be the same. */
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

/** What the upstream says it really did. */
function upstreamFields({ dialect, extra }: Pick<TurnStart, "dialect" | "extra">): Fields {
  if (extra === undefined) return {};
  if (dialect !== "responses")
    return typeof extra.service_tier === "string" ? { service_tier: extra.service_tier } : {};
  const fields: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(extra))
    if (value !== null && !clients.has(key)) fields[key] = value;
  if (typeof fields.reasoning === "object")
    fields.reasoning = { effort: null, summary: null, ...fields.reasoning };
  return fields;
}

/** Some send milliseconds or nothing real; the API has whole seconds. */
const isSeconds = (moment: number): boolean =>
  Number.isInteger(moment) && moment > 0 && moment < 1e11;

function incompleteDetails({ status, stop }: Progress): Fields | null {
  if (status !== "incomplete") return null;
  return { reason: stop === "filter" ? "content_filter" : "max_output_tokens" };
}

function errorOf(fault: Fault): Fields {
  const { code, message } = faultBody(fault).error;
  return { code, message };
}

export const statusOf = (stop: StopReason): "completed" | "incomplete" =>
  isCut(stop) ? "incomplete" : "completed";

/** An answer that nobody waited for any more, or that was cancelled, is not one that failed. */
export const failedStatus = ({ code }: Fault): "failed" | "cancelled" =>
  code === "client.left" || code === "response.cancelled" ? "cancelled" : "failed";

/** Vendor fields of an answer in another dialect. */
export function loseExtra(extra: Extra | undefined, choice: number, lose: OnLoss): void {
  if (extra === undefined || extra.dialect === "responses") return;
  for (const [key, value] of Object.entries(extra.fields))
    if (isReportable(key, value)) lose(`\`${key}\``, choice);
}

/** The same of those that came outside of all choices. */
export function loseStart(
  { dialect = "responses", extra }: Pick<TurnStart, "dialect" | "extra">,
  lose: OnLoss,
): void {
  if (extra !== undefined) loseExtra({ dialect, fields: extra }, 0, lose);
}

/** What reasoning was signed with elsewhere, unless it was sealed: then nothing of it is left here. */
export function loseSignature({ details, extra }: Reasoning, lose: OnLoss): void {
  if (details !== undefined) lose("`reasoning_details`", 0);
  loseExtra(extra, 0, lose);
}

/** The response object of a whole answer. It has one choice; of several the first is shown. */
export function writeAnswer(answer: Answer<ClientName>, turn: Turn, context: WriteContext): string {
  const [choice] = answer.choices;
  const stop = choice?.stop ?? "end";
  const status = answer.fault === undefined ? statusOf(stop) : failedStatus(answer.fault);
  const output: string[] = [];
  const lose = lossReporter("responses", context.report);
  loseStart(answer, lose);
  losePause({ choice: 0, stop }, lose);
  for (const extra of choice?.vendorExtras ?? []) loseExtra(extra, 0, lose);
  loseExtra(choice?.choiceExtra, 0, lose);
  for (const item of choice?.items ?? []) {
    if (item.type === "reasoning") loseSignature(item, lose);
    const id = itemId(item) ?? context.newId(idPrefix(item));
    if (item.type === "opaque" && item.dialect !== "responses") {
      loseItem(item, lose);
      continue;
    }
    const fields = writeOutputItem(item, id);
    if (fields === undefined) continue;
    const text = JSON.stringify(fields);
    output.push(text);
    context.keep?.(id, text);
  }
  const completedAt = status === "completed" ? context.now() : undefined;
  const { usage, fault } = answer;
  const progress: Progress = { status, output, stop, usage, fault, completedAt };
  const write = resource(turn, answer, context);
  if (context.record !== undefined) {
    const { json, shared } = write.kept(progress);
    context.record(json, shared);
  }
  return write.shown(progress);
}
