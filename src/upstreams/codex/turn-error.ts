/** Faults for turns that Codex ended with an error. */

import { fieldsOf, numberOf, filledText } from "../../dialects/shared/loose.ts";
import { faultText, faultWords } from "../../dialects/errors/upstream-error.ts";
import { Fault, type FaultCode } from "../../turn/fault.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { readError } from "../http/error-body.ts";
import { refusal, whoIs, type Failing } from "../http/fault.ts";

/** The upstream as its errors name it. */
export type CodexContext = Failing & {
  readonly home: string;
  /** How to sign in; none where it has a key or an address of its own. */
  readonly signIn?: string | undefined;
};

/** The fault, what the upstream did (after its name), and OpenAI's code where clients look for one. */
type Row = readonly [code: keyof typeof remedies, did: string, openai?: string];

const remedies = {
  ...faultWords,
  "upstream.cut": { remedy: "Try again." },
  "upstream.unreachable": { remedy: "Check its `base_url` and the network." },
} as const satisfies Partial<Record<FaultCode, { readonly remedy: string }>>;

const unreachable: Row = ["upstream.unreachable", "cannot reach its model"];
const refused = ["upstream.refused", "rejected the request"] as const;
const TOO_LONG = "found the conversation longer than its model can read";

/** The kinds of `codexErrorInfo`. */
const rows: ReadonlyMap<string, Row> = new Map<string, Row>([
  ["contextWindowExceeded", ["upstream.refused", TOO_LONG, "context_length_exceeded"]],
  ["usageLimitExceeded", ["upstream.quota", "has used up its allowance", "insufficient_quota"]],
  ["rateLimitExceeded", ["upstream.rate_limited", "asks to slow down", "rate_limit_exceeded"]],
  ["serverOverloaded", ["upstream.overloaded", "is overloaded"]],
  ["flexUnavailable", ["upstream.overloaded", "has no room for this service tier"]],
  ["policyCapacityUnavailable", ["upstream.overloaded", "is overloaded"]],
  ["modelNotFound", ["upstream.not_found", "has no such model", "model_not_found"]],
  ["unauthorized", ["upstream.auth", "was not let in"]],
  ["internalServerError", ["upstream.failed", "had an error"]],
  ["badRequest", refused],
  ["cyberPolicy", [...refused, "cyber_policy"]],
  ["misalignmentPolicyViolation", [...refused, "misalignment_policy_violation"]],
  ["responseStreamDisconnected", ["upstream.cut", "lost its model in mid-answer"]],
  ["responseStreamConnectionFailed", unreachable],
  ["responseTooManyFailedAttempts", ["upstream.failed", "gave up on its model"]],
  ["httpConnectionFailed", unreachable],
]);
const unknownKind: Row = ["upstream.said_error", "reported an error"];

const INCOMPLETE = /incomplete response returned, reason: (\w*)/i;
const stops: ReadonlyMap<string, "length" | "filter"> = new Map([
  ["max_output_tokens", "length"],
  ["content_filter", "filter"],
]);

/** The reason why an answer stopped early where that is no failure: Codex reports both as errors. */
export const stopIn = (error: Fields | undefined): "length" | "filter" | undefined =>
  stops.get(INCOMPLETE.exec(filledText(error?.message) ?? "")?.[1] ?? "");

/** How errors of Codex itself begin; those of its model come as the model's own text. */
const OWN_ERROR = /^(?:fatal error|internal error)/i;

/** The fault of a turn that failed, from the `error` of its `turn/completed`. */
export function turnFault(error: Fields | undefined, codex: CodexContext): Fault {
  if (error === undefined)
    return new Fault(
      "upstream.cut",
      `Upstream \`${codex.name}\` broke the turn off; send the request again.`,
    );
  const message = withoutSuffixes(filledText(error.message) ?? "");
  const { kind, status } = readKind(error.codexErrorInfo);
  const body = bodyIn(message);
  const isCut =
    kind === "other" && (INCOMPLETE.test(message) || message.startsWith("stream disconnected"));
  // Codex passes a 400 on as the bare text of its body, under the kind `other`.
  const isRefusal = kind === "other" && !isCut && !OWN_ERROR.test(message);
  const known = status ?? statusIn(filledText(error.message) ?? "") ?? (isRefusal ? 400 : 0);
  if (known === 401 && codex.signIn !== undefined) return wrongSignIn(codex.signIn);
  if (known >= 400)
    return refusal(codex, { status: known, headers: {}, body: body ?? message, now: 0 }).fault;
  return faultOfKind(isCut ? "responseStreamDisconnected" : kind, body ?? message, codex);
}

const wrongSignIn = (signIn: string): Fault =>
  new Fault("upstream.auth", `Codex's sign-in was not accepted. ${signIn}`);

/** Removes what Codex adds for its own users: the status, and the address, which clients must not see. */
const withoutSuffixes = (message: string): string =>
  message
    .replace(/^unexpected status \d{3}[^:]*: /, "")
    .replace(/, url: \S+$/, "")
    .slice(0, 4000);

function faultOfKind(kind: string, message: string, codex: CodexContext): Fault {
  const { signIn } = codex;
  const [code, did, openai] = rows.get(kind) ?? unknownKind;
  if (code === "upstream.auth" && signIn !== undefined) return wrongSignIn(signIn);
  const text = (readError(message).message ?? message).slice(0, 2000);
  const { remedy } = remedies[code];
  return new Fault(code, faultText(whoIs(codex), { did, remedy }, text), {
    upstreamCode: openai,
    said: { message: text, code: openai },
    retryAfter:
      code === "upstream.rate_limited" || code === "upstream.quota" ? waitIn(text) : undefined,
  });
}

const seconds: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 };

/** The wait that a rate limit's text asks for, in whole seconds: `1m30s`, `250ms`. */
function waitIn(text: string): string | undefined {
  const [, span] = /try again in ((?:\d+(?:\.\d+)?(?:ms|[smhd]))+)/i.exec(text) ?? [];
  if (span === undefined) return undefined;
  const pieces = [...span.toLowerCase().matchAll(/([\d.]+)([a-z]+)/g)];
  const sum = pieces.reduce((all, [, n, unit = ""]) => all + Number(n) * (seconds[unit] ?? 0), 0);
  return String(Math.ceil(sum));
}

/** A word, or an object whose one key is the word and may hold the status. */
function readKind(info: unknown): { readonly kind: string; readonly status?: number | undefined } {
  if (typeof info === "string") return { kind: info };
  const [kind, detail] = Object.entries(fieldsOf(info) ?? {})[0] ?? ["", undefined];
  return { kind, status: numberOf(fieldsOf(detail)?.httpStatusCode) };
}

/** The body of a refusal, which Codex passes on as its message. */
function bodyIn(message: string): string | undefined {
  const from = message.indexOf("{");
  if (from < 0) return undefined;
  const text = message.slice(from, message.lastIndexOf("}") + 1);
  return isFields(jsonOf(text)) ? text : undefined;
}

/** The status as Codex tells it; a refusal's own words may speak of others. */
const statusIn = (message: string): number | undefined => {
  const [, status] =
    /^(?:unexpected status|exceeded retry limit, last status:) ([45]\d\d)\b/.exec(message) ?? [];
  return status === undefined ? undefined : Number(status);
};
