import { jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, given, listOf, filledText } from "../shared/loose.ts";

export type ErrorWords = {
  readonly message?: string | undefined;
  /** The upstream's own word or number, never an HTTP status. */
  readonly code?: string | undefined;
  readonly type?: string | undefined;
  readonly param?: string | undefined;
  /** The HTTP status in the error. */
  readonly status?: number | undefined;
  /** Milliseconds that the upstream asks to wait. */
  readonly waitMs?: number | undefined;
};

/** The fields in which upstreams put each part, the best first. */
const places = {
  message: [
    "message",
    "msg",
    "Message",
    "error_message",
    "error_msg",
    "errorMessage",
    "error_description",
    "status_msg",
    "faultstring",
    "description",
  ],
  code: ["code", "status", "__type", "error_code", "errorCode", "ErrorCode", "errorcode"],
  number: ["status_code", "statusCode", "http_status", "http_status_code"],
  type: ["type", "error_type", "errorType"],
  param: ["param", "parameter"],
  /** The fields that may hold another error, in place of words or in addition. */
  inner: ["error", "errors", "detail", "message", "base_resp", "fault"],
} as const;

const DEEPEST = 5;
const LONGEST_WORDS = 2_000;
const LONGEST_CODE = 200;

/** Reads message, code and type of an error in any shape; undefined if it has none of them. */
export function errorWords(value: unknown, depth = 0): ErrorWords | undefined {
  if (typeof value === "string") return ofText(value, depth);
  if (depth > DEEPEST || typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) return ofList(value, depth);
  return ofFields(value as Fields, depth);
}

/** Reads a text, which may be the JSON of another upstream's error. */
function ofText(text: string, depth: number): ErrorWords | undefined {
  const inner = /^\s*[{[]/.test(text) ? errorWords(jsonOf(text), depth + 1) : undefined;
  if (inner?.message !== undefined) return inner;
  const message = shortened(text, LONGEST_WORDS);
  return message === "" ? undefined : { message };
}

function ofList(list: readonly unknown[], depth: number): ErrorWords | undefined {
  const found = list.flatMap((entry) => errorWords(entry, depth + 1) ?? []);
  const messages = found.flatMap(({ message }) => message ?? []).join("; ");
  const [first] = found;
  return first && { ...first, message: shortened(messages, LONGEST_WORDS) || undefined };
}

function ofFields(fields: Fields, depth: number): ErrorWords | undefined {
  const own = ownWords(fields, depth);
  const inner = innerWords(fields, own.message, depth);
  const raw = errorWords(fieldsOf(fields.metadata)?.raw, depth + 1);
  const found = {
    message: joined(inner?.message ?? own.message ?? wordsAt(fields, ["title"]), raw?.message),
    code: raw?.code ?? inner?.code ?? own.code,
    type: raw?.type ?? inner?.type ?? own.type,
    param: raw?.param ?? inner?.param ?? own.param,
    // The outer status is that of the answer, an inner one that of an error that was passed on.
    status: own.status ?? inner?.status ?? raw?.status,
    waitMs: own.waitMs ?? inner?.waitMs ?? raw?.waitMs,
  };
  return Object.values(found).some((one) => one !== undefined) ? found : undefined;
}

function ownWords(fields: Fields, depth: number): ErrorWords {
  const param = wordsAt(fields, places.param) ?? locationOf(fields.loc);
  const words = ofText(wordsAt(fields, places.message) ?? "", depth);
  const rpc = rpcDetails(fields.details);
  const isAboutField = fields.loc !== undefined;
  const where = isAboutField && param !== undefined ? `${param}: ` : "";
  // The type of such an error describes one field.
  const type = isAboutField ? undefined : wordsAt(fields, places.type);
  return {
    code: rpc.isUsedUp === true ? USED_UP : codeOf(fields),
    // The word `error` adds nothing, and an address is for people.
    type: type === "error" || type?.includes(":") === true ? rpc.reason : (type ?? rpc.reason),
    param: param ?? rpc.field,
    status: statusIn(fields),
    waitMs: rpc.isUsedUp === true ? undefined : rpc.waitMs,
    ...words,
    message: words?.message === undefined ? undefined : where + words.message,
  };
}

/** The code of a quota that waiting for some seconds does not renew. */
const USED_UP = "insufficient_quota";

type RpcDetails = {
  readonly reason?: string | undefined;
  readonly field?: string | undefined;
  readonly waitMs?: number | undefined;
  readonly isUsedUp?: boolean | undefined;
};

/** Reads the details of a google.rpc.Status: the reason, the wrong field, the wait and the quota. */
function rpcDetails(raw: unknown): RpcDetails {
  const details: { -readonly [Key in keyof RpcDetails]: RpcDetails[Key] } = {};
  for (const entry of (listOf(raw) ?? []).slice(0, MOST_DETAILS)) {
    const detail = fieldsOf(entry) ?? {};
    const [, type] = /\.rpc\.(\w+)$/.exec(String(detail["@type"])) ?? [];
    if (type === "ErrorInfo") details.reason ??= filledText(detail.reason);
    else if (type === "RetryInfo") details.waitMs ??= durationMs(detail.retryDelay);
    else if (type === "BadRequest") {
      const [first] = listOf(detail.fieldViolations) ?? [];
      details.field ??= filledText(fieldsOf(first)?.field);
    } else if (type === "QuotaFailure") {
      const ids = (listOf(detail.violations) ?? []).map((one) => String(fieldsOf(one)?.quotaId));
      details.isUsedUp ||= ids.some((id) => id.includes("PerDay"));
    }
  }
  return details;
}

const MOST_DETAILS = 20;

/** A duration of protobuf, such as `34.4s`. */
function durationMs(value: unknown): number | undefined {
  const { seconds, nanos = 0 } = fieldsOf(value) ?? {};
  const [, text] = /^(\d{1,8}(?:\.\d{1,9})?)s$/.exec(String(value)) ?? [];
  const ms =
    text === undefined ? Number(seconds) * 1000 + Number(nanos) / 1e6 : Number(text) * 1000;
  return ms >= 0 && Number.isFinite(ms) ? ms : undefined;
}

/** The words of an inner error, which are more precise. A mere sentence is used only if there is no other. */
function innerWords(
  fields: Fields,
  own: string | undefined,
  depth: number,
): ErrorWords | undefined {
  for (const key of places.inner) {
    const value = fields[key];
    if (own !== undefined && (typeof value !== "object" || value === null)) continue;
    const found = errorWords(value, depth + 1);
    if (found === undefined) continue;
    if ((found.message ?? own) === undefined && key !== "error") continue;
    // A list of wrong fields adds to the error's own words.
    return key === "detail" ? { ...found, message: joined(own, found.message) } : found;
  }
  return undefined;
}

/** Joins the words of two sources for the same error. */
export const mergedWords = (first: ErrorWords, second: ErrorWords): ErrorWords => ({
  ...second,
  ...given(first),
});

const joined = (words: string | undefined, more: string | undefined): string | undefined => {
  if (words === undefined || more === undefined) return words ?? more;
  return words.includes(more) ? words : shortened(`${words}: ${more}`, LONGEST_WORDS);
};

function codeOf(fields: Fields): string | undefined {
  for (const key of [...places.code, ...places.number]) {
    const value = fields[key];
    if (statusOf(value) !== undefined) continue;
    if (typeof value === "number" && value !== 0 && value !== 200) return String(value);
    const word = filledText(value);
    // Some write the full name of a class, or the address of its documentation.
    if (word !== undefined && word.trim() !== "")
      return shortened(key === "__type" ? word.replace(/^.*#|:.*$/gs, "") : word, LONGEST_CODE);
  }
  return undefined;
}

function statusIn(fields: Fields): number | undefined {
  for (const key of ["code", "status", ...places.number, "error_code"]) {
    const status = statusOf(fields[key]);
    if (status !== undefined) return status;
  }
  return undefined;
}

function statusOf(value: unknown): number | undefined {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && status >= 400 && status < 600 ? status : undefined;
}

/** The path of a wrong field in a request, without the first step, which is always the same. */
function locationOf(loc: unknown): string | undefined {
  const steps = (listOf(loc) ?? []).filter((one) => ["string", "number"].includes(typeof one));
  const [first, ...rest] = steps;
  return (first === "body" || first === "query" ? rest : steps).join(".") || undefined;
}

function wordsAt(fields: Fields, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const text = filledText(fields[key])?.trim();
    if (text !== undefined && text !== "") return text;
  }
  return undefined;
}

/** Writes a text on one line of at most `longest` characters. */
export function shortened(text: string, longest: number): string {
  // A sentence of a million blanks need not be read to its end.
  const flat = text
    .slice(0, 4 * longest)
    .replaceAll(/\s+/g, " ")
    .trim();
  return flat.length <= longest ? flat : `${flat.slice(0, longest)}...`;
}
