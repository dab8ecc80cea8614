import { fieldsOf, numberOf, textOf } from "../../dialects/shared/loose.ts";
import { faultText, faultWords, mayRetry } from "../../dialects/errors/upstream-error.ts";
import { Fault, type FaultCode } from "../../turn/fault.ts";
import { isFields, jsonOf } from "../../turn/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { readError } from "../http/error-body.ts";
import { refusal, shown, whoIs, type Failing } from "../http/fault.ts";

/** Who failed, and how it is let in where it has no key. */
export type CodexFailing = Failing & { readonly signIn?: string | undefined };

type Row = {
  readonly code: keyof typeof remedies;
  /** After "Upstream `name`". */
  readonly did: string;
  /** What the OpenAI API calls it, where clients look for that. */
  readonly openai?: string;
};

const remedies = {
  ...faultWords,
  "upstream.cut": { remedy: "Try again." },
  "upstream.unreachable": { remedy: "Check its `base_url` and the network." },
} as const satisfies Partial<Record<FaultCode, { readonly remedy: string }>>;

const lost: Row = { code: "upstream.cut", did: "lost its model in mid-answer" };
const unreached: Row = { code: "upstream.unreachable", did: "cannot reach its model" };
const refused: Row = { code: "upstream.refused", did: "rejected the request" };

/** The kinds of failure that Codex names. */
const rows: Readonly<Record<string, Row>> = {
  contextWindowExceeded: {
    code: "upstream.refused",
    did: "found the conversation longer than its model can read",
    openai: "context_length_exceeded",
  },
  usageLimitExceeded: {
    code: "upstream.rate_limited",
    did: "has used up its allowance",
    openai: "insufficient_quota",
  },
  rateLimitExceeded: {
    code: "upstream.rate_limited",
    did: "asks to slow down",
    openai: "rate_limit_exceeded",
  },
  serverOverloaded: { code: "upstream.overloaded", did: "is overloaded" },
  flexUnavailable: { code: "upstream.overloaded", did: "has no room for this service tier" },
  policyCapacityUnavailable: { code: "upstream.overloaded", did: "is overloaded" },
  modelNotFound: {
    code: "upstream.not_found",
    did: "has no such model",
    openai: "model_not_found",
  },
  unauthorized: { code: "upstream.auth", did: "was not let in" },
  internalServerError: { code: "upstream.failed", did: "had an error" },
  badRequest: refused,
  cyberPolicy: { ...refused, openai: "cyber_policy" },
  misalignmentPolicyViolation: { ...refused, openai: "misalignment_policy_violation" },
  responseStreamDisconnected: lost,
  responseStreamConnectionFailed: unreached,
  responseTooManyFailedAttempts: { code: "upstream.failed", did: "gave up on its model" },
  httpConnectionFailed: unreached,
};

/** What ends an answer before it is whole and is no failure; Codex has no other word for it. */
const ends: Readonly<Record<string, "length" | "filter">> = {
  max_output_tokens: "length",
  content_filter: "filter",
};

/** What Codex says of itself under no other name; what it passes on of its model comes bare. */
const OWN_ERROR = /^(?:fatal error|internal error)/i;

/** What a failed turn means. */
export function faultOf(
  error: Fields | undefined,
  failing: CodexFailing,
): Fault | "length" | "filter" {
  const message = plain(textOf(error?.message) ?? "");
  const [isIncomplete, reason = ""] =
    /incomplete response returned, reason: (\w*)/i.exec(message) ?? [];
  const end = Object.hasOwn(ends, reason) ? ends[reason] : undefined;
  if (end !== undefined) return end;
  if (error === undefined)
    return new Fault(
      "upstream.cut",
      `Upstream \`${failing.name}\` broke the turn off; send the request again.`,
    );
  const { kind, status } = readKind(error.codexErrorInfo);
  const body = bodyIn(message);
  const isCut =
    kind === "other" && (isIncomplete !== undefined || message.startsWith("stream disconnected"));
  // A refusal of the request comes as it is, and nothing says that it is one.
  const isRefusal = kind === "other" && !isCut && !OWN_ERROR.test(message);
  const said = status ?? statusIn(textOf(error.message) ?? "") ?? (isRefusal ? 400 : 0);
  if (said === 401 && failing.signIn !== undefined)
    return new Fault("upstream.auth", `Codex's sign-in was not accepted. ${failing.signIn}`);
  if (said >= 400)
    return refusal(failing, { status: said, headers: {}, body: body ?? message, now: 0 }).fault;
  return shown(
    failing,
    named(isCut ? "responseStreamDisconnected" : kind, body ?? message, failing),
  );
}

/**
 * Codex cannot reach its model and waits until it can, without end. Whoever
 * waits for the answer is told instead, and the next upstream may be asked.
 */
export function outOfReach(
  error: Fields | undefined,
  failing: CodexFailing,
  begun: boolean,
): Fault {
  const details = textOf(error?.additionalDetails)?.slice(0, 2000);
  const { code, did } = begun ? lost : unreached;
  return shown(
    failing,
    new Fault(
      code,
      `Upstream \`${failing.name}\` ${did}${details === undefined ? "" : ` (${details})`}. Check its \`base_url\` and the network.`,
    ),
  );
}

/** Without what Codex adds for its own users: the status again, and an address that is not the client's business. */
const plain = (message: string): string =>
  message
    .replace(/^unexpected status \d{3}[^:]*: /, "")
    .replace(/, url: \S+$/, "")
    .slice(0, 4000);

function named(kind: string, message: string, failing: CodexFailing): Fault {
  const { signIn } = failing;
  const row = Object.hasOwn(rows, kind) ? rows[kind] : undefined;
  const { code, did, openai }: Row = row ?? {
    code: "upstream.said_error",
    did: "reported an error",
  };
  if (code === "upstream.auth" && signIn !== undefined)
    return new Fault(code, `Codex's sign-in was not accepted. ${signIn}`);
  const words = (readError(message).message ?? message).slice(0, 2000);
  const { remedy } = remedies[code];
  return new Fault(code, faultText(whoIs(failing), { did, remedy }, words), {
    upstreamCode: openai,
    retry: mayRetry(openai),
    retryAfter: code === "upstream.rate_limited" ? waitIn(words) : undefined,
  });
}

const seconds: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 };

/** How long to wait, in whole seconds, where the words say so: `1m30s`, `250ms`. */
function waitIn(words: string): string | undefined {
  const [, span] = /try again in ((?:\d+(?:\.\d+)?(?:ms|[smhd]))+)/i.exec(words) ?? [];
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
