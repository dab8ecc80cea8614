import { Fault, type FaultCode } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { errorWords, type ErrorWords } from "./error-words.ts";
import { fieldsOf, filledText, listOf, meaningsOf, numberOf } from "../shared/loose.ts";

const byStatus = {
  401: "upstream.auth",
  402: "upstream.quota",
  403: "upstream.forbidden",
  404: "upstream.not_found",
  408: "upstream.timeout",
  413: "upstream.too_large",
  429: "upstream.rate_limited",
  503: "upstream.overloaded",
  529: "upstream.overloaded",
} as const satisfies Record<number, FaultCode>;

/** The faults of HTTP statuses of 400 or more. */
export type StatusFault =
  | (typeof byStatus)[keyof typeof byStatus]
  | "upstream.failed"
  | "upstream.refused";

function faultOfStatus(status: number): StatusFault {
  const known: Readonly<Record<number, StatusFault>> = byStatus;
  return known[status] ?? (status >= 500 ? "upstream.failed" : "upstream.refused");
}

/**
 * The fault of an error with a status. A used-up quota and an unknown model come with several:
 * waiting does not help, but another upstream may.
 */
export function faultOfError(status: number, { code, type }: ErrorWords): StatusFault {
  if ([code, type].some((word) => causeOf(word) === "upstream.quota")) return "upstream.quota";
  // Google refuses a wrong key as a bad request.
  if (status === 400 && type !== undefined && causeOf(type) === "upstream.auth")
    return "upstream.auth";
  const hasNoModel = status === 400 && code !== undefined && plain(code) === "model_not_found";
  return hasNoModel ? "upstream.not_found" : faultOfStatus(status);
}

/** The status that the client gets, where the fault keeps the upstream's. */
export const keptStatus = (code: FaultCode, status: number | undefined): number | undefined =>
  status !== undefined && status < 500 && (code === "upstream.refused" || code === "upstream.quota")
    ? status
    : undefined;

/** The two halves of a fault's message: the event, and the remedy. */
export type FaultWords = {
  /** The words after the upstream's name. */
  readonly did: string;
  /** Empty if the upstream's own words have to suffice. */
  readonly remedy: string;
};

export const faultWords: Readonly<Record<StatusFault | "upstream.said_error", FaultWords>> = {
  "upstream.auth": { did: "rejected its key", remedy: "Check its `api_key`." },
  "upstream.forbidden": { did: "forbids this", remedy: "Check what its `api_key` may do." },
  "upstream.not_found": {
    did: "has no such model or route",
    remedy: "Check the model's name and its `base_url`.",
  },
  "upstream.timeout": { did: "gave up waiting", remedy: "Try again." },
  "upstream.too_large": { did: "found the request too large", remedy: "Send less." },
  "upstream.rate_limited": { did: "asks to slow down", remedy: "Try again later." },
  "upstream.quota": {
    did: "has no credit or quota left",
    remedy: "Top up its account, or raise its limit there.",
  },
  "upstream.overloaded": { did: "is overloaded", remedy: "Try again later." },
  "upstream.failed": { did: "had an error", remedy: "Try again later." },
  "upstream.refused": { did: "rejected the request", remedy: "" },
  "upstream.said_error": {
    did: "reported an error",
    remedy: "Check the request, or try another model.",
  },
};

const WITHOUT_REASON = "`POST /v1/plan` shows what is made of the request.";

/** The message of such a fault; `who` begins the sentence. */
export function upstreamFaultText(who: string, { did, remedy }: FaultWords, reason = ""): string {
  const what = reason === "" ? `${did} and did not say why.` : `${did}: ${stopped(reason)}`;
  return `${who} ${what} ${remedy === "" && reason === "" ? WITHOUT_REASON : remedy}`.trimEnd();
}

export const stopped = (sentence: string): string =>
  /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;

/** The words in an error's `code` or `type`, by cause, without endings such as `_error`. */
const causes: Readonly<Partial<Record<StatusFault, string>>> = {
  "upstream.rate_limited":
    "rate_limit rate_limit_exceeded rate_limited too_many_requests resource_exhausted throttling throttled",
  "upstream.quota":
    "insufficient_quota insufficient_balance service_quota_exceeded usage_limit_reached billing billing_not_active",
  "upstream.overloaded":
    "slow_down server_is_overloaded overloaded unavailable service_unavailable model_not_ready",
  "upstream.failed":
    "server internal internal_server internal_failure api generation incomplete_generation vector_store_timeout",
  "upstream.timeout": "timeout request_timeout model_timeout deadline_exceeded",
  "upstream.auth":
    "invalid_api_key api_key_invalid api_key_expired authentication unauthenticated unauthorized unrecognized_client",
  "upstream.forbidden": "permission permission_denied access_denied forbidden",
  "upstream.not_found": "model_not_found not_found resource_not_found",
  "upstream.refused":
    "context_length_exceeded invalid_prompt invalid_request invalid_argument bad_request validation bio_policy cyber_policy misalignment_policy_violation data_residency_mismatch",
};
const causesByWord = meaningsOf(causes);

/**
 * Finds the error in a frame or body of a successful answer. Upstreams put it under `error`, as an
 * object or a sentence, or send it bare; their codes are their own or HTTP statuses.
 */
export function upstreamError(raw: Fields): Fault | undefined {
  const { error, object, type, x_groq: groqFields, base_resp: response } = raw;
  if (object !== "error" && type !== "error" && (error ?? groqFields ?? response) == null)
    return undefined;
  if (isSaid(error) || object === "error" || type === "error") return bareError(raw);
  const groq = fieldsOf(groqFields);
  if (isSaid(groq?.error)) return bareError({ error: groq?.error });
  return isFailure(fieldsOf(response)?.status_code) ? bareError(raw) : undefined;
}

/** The fault of an object that is known to be an error. */
export const bareError = (raw: Fields): Fault => errorFault(errorWords(raw) ?? {});

/**
 * Finds an error in an object without any part of an answer: a code and a sentence. `alone`: it is
 * the whole answer, so a sentence suffices.
 */
export function strayError(raw: Fields, alone = false): Fault | undefined {
  const isOne =
    (listOf(raw.errors) ?? []).length > 0 ||
    codes.some((key) => isFailure(raw[key])) ||
    raw.detail != null ||
    fieldsOf(raw.fault) !== undefined ||
    (numberOf(raw.status) ?? 0) >= 400 ||
    (alone && filledText(raw.message) !== undefined);
  if (!isOne) return undefined;
  const error = errorWords(raw);
  return error?.message === undefined ? undefined : errorFault(error);
}

const codes = ["code", "status_code", "statusCode", "error_code", "__type"];

/** True if an error is set: many upstreams write an empty text for "none". */
const isSaid = (error: unknown): boolean =>
  fieldsOf(error) !== undefined ||
  (filledText(error) ?? "").trim() !== "" ||
  (listOf(error) ?? []).length > 0;

const isFailure = (code: unknown): boolean =>
  (typeof code === "number" || typeof code === "string") &&
  !/^(?:0|200|ok|success|)$/i.test(`${code}`);

/** The fault of an error without a known cause. */
const UNNAMED = "upstream.said_error";

export function errorFault(error: ErrorWords): Fault {
  const { message, code: own, type, param, status, waitMs } = error;
  const cause =
    status === undefined ? (causeOf(own) ?? causeOf(type) ?? UNNAMED) : faultOfError(status, error);
  const tooLong = isTooLong(message) && (cause === "upstream.refused" || cause === UNNAMED);
  const code = tooLong ? "upstream.refused" : cause;
  return new Fault(code, upstreamFaultText("The upstream", faultWords[code], message), {
    param,
    upstreamCode: tooLong ? CONTEXT_LENGTH : (own ?? type),
    said: { message, code: own, type },
    status: keptStatus(code, status),
    retryAfter: waitMs === undefined ? undefined : String(Math.ceil(waitMs / 1_000)),
  });
}

function causeOf(word: string | undefined): StatusFault | undefined {
  if (word === undefined) return undefined;
  const known = plain(word);
  // All codes of the API about images mean that the request has a bad one.
  return (
    causesByWord.get(known) ?? (/(^|_)image(_|$)/.test(known) ? "upstream.refused" : undefined)
  );
}

const plain = (word: string): string =>
  word
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replaceAll(/[ -]/g, "_")
    .replace(/_(?:error|exception)$/, "");

/** The fault of an upstream that sent no answer; `did` completes the sentence. */
export const malformed = (did: string): Fault =>
  new Fault(
    "upstream.malformed",
    `The upstream ${did}. Check that its \`base_url\` and \`dialect\` are right, or try again.`,
  );

/** The fault of a model whose answer its own API could not use: the same request may succeed at once. */
export const worthless = (did: string): Fault =>
  new Fault("upstream.malformed", `The upstream ${did}. Try again, or another model.`, {
    retry: true,
  });

/** The fault of a call without a name: no client can answer it. */
export const nameless = (): Fault =>
  new Fault("upstream.malformed", "The upstream called a tool without naming it; try again.");

/** The fault of a frame that is not a JSON object; undefined if it only keeps the connection open. */
export function unreadableFault(data: string, name: string | undefined): Fault | undefined {
  if (name === "error") return bareError({ message: data });
  const isBeat = name !== undefined && !data.trimStart().startsWith("{");
  return isBeat ? undefined : malformed("sent a frame that is not a JSON object");
}

/** The code by which clients of the OpenAI API recognise a context that is too long, and shorten the conversation. */
export const CONTEXT_LENGTH = "context_length_exceeded";

/** Matches the sentences of Anthropic, Bedrock, Gemini, llama.cpp, Mistral, Ollama and vLLM. */
const tooLongWords =
  /context[_ ](?:length|window|limit|size)|maximum context|(?:prompt|input) is too long|too many (?:input )?tokens|tokens?\b[^.]{0,80}\bexceeds? the (?:maximum|limit)/i;

/** Every known refusal names its subject within this length. */
const LONGEST = 2000;

export const isTooLong = (message: string | undefined): boolean =>
  message !== undefined && tooLongWords.test(message.slice(0, LONGEST));

/** True for the refusal of a request that is too long for its model. */
export const isAboutLength = ({ detail, isFromUpstream, message }: Fault): boolean =>
  detail.upstreamCode === CONTEXT_LENGTH || (isFromUpstream && isTooLong(message));

/** The text before the words of an upstream, with its status. */
const statusWords = /^.{0,200}?\(\d{3}\): /;
const twoNumbers = /(\d[\d,]{2,})\D+?(\d[\d,]{2,})/;

/** The limit and the length in the words of such a refusal, if they have both. */
export function lengthsIn(message: string): { readonly most?: number; readonly asked?: number } {
  const found = twoNumbers.exec(message.replace(statusWords, ""))?.slice(1) ?? [];
  const [most, asked] = found
    .map((one) => Number(one.replaceAll(",", "")))
    .toSorted((one, other) => one - other);
  return most === undefined || asked === undefined ? {} : { most, asked };
}
