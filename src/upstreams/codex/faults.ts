import { fieldsOf, numberOf, textOf } from "../../dialects/loose.ts";
import { Fault, type FaultCode } from "../../turn/fault.ts";
import { isFields, jsonOf } from "../../turn/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { readError } from "../error-body.ts";
import { refusal, shown } from "../http-fault.ts";
import type { Failing } from "../http-fault.ts";

/** Who failed, and how it is let in where it has no key. */
export type CodexFailing = Failing & { readonly signIn?: string | undefined };

type Row = {
  readonly code: FaultCode;
  /** After "Upstream `name`". */
  readonly did: string;
  /** What the OpenAI API calls it, where clients look for that. */
  readonly openai?: string;
};

const lost: Row = { code: "upstream.cut", did: "lost its model in mid-answer" };
const unreached: Row = { code: "upstream.unreachable", did: "cannot reach its model" };

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
  serverOverloaded: { code: "upstream.overloaded", did: "is overloaded" },
  modelNotFound: {
    code: "upstream.not_found",
    did: "has no such model",
    openai: "model_not_found",
  },
  unauthorized: { code: "upstream.auth", did: "was not let in" },
  internalServerError: { code: "upstream.failed", did: "had an error" },
  badRequest: { code: "upstream.refused", did: "rejected the request" },
  responseStreamDisconnected: lost,
  responseStreamConnectionFailed: unreached,
  responseTooManyFailedAttempts: { code: "upstream.failed", did: "gave up on its model" },
  httpConnectionFailed: unreached,
};

/**
 * What a failed turn means. Running into the limit of tokens is no failure but
 * an end; Codex has no other word for it.
 */
export function faultOf(error: Fields | undefined, failing: CodexFailing): Fault | "length" {
  const message = plain(textOf(error?.message) ?? "");
  if (/incomplete response.*max_output_tokens/i.test(message)) return "length";
  if (error === undefined)
    return new Fault(
      "upstream.cut",
      `Upstream \`${failing.name}\` broke the turn off; send the request again.`,
    );
  const { kind, status } = readKind(error.codexErrorInfo);
  const body = bodyIn(message);
  const said =
    status ?? statusIn(textOf(error.message) ?? "") ?? (body && kind === "other" ? 400 : 0);
  if (said === 401 && failing.signIn !== undefined)
    return new Fault("upstream.auth", `Codex's sign-in was not accepted. ${failing.signIn}`);
  if (said >= 400)
    return refusal(failing, { status: said, headers: {}, body: body ?? message, now: 0 }).fault;
  const isCut = kind === "other" && message.startsWith("stream disconnected");
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

function named(kind: string, message: string, { name, signIn }: CodexFailing): Fault {
  const row = Object.hasOwn(rows, kind) ? rows[kind] : undefined;
  const { code, did, openai }: Row = row ?? {
    code: "upstream.said_error",
    did: "reported an error",
  };
  if (code === "upstream.auth" && signIn !== undefined)
    return new Fault(code, `Codex's sign-in was not accepted. ${signIn}`);
  const words = (readError(message).message ?? message).slice(0, 2000);
  return new Fault(code, `Upstream \`${name}\` ${did}${words === "" ? "." : `: ${words}`}`, {
    upstreamCode: openai,
  });
}

/** A word, or an object whose one key is the word and may hold the status. */
function readKind(info: unknown): { readonly kind: string; readonly status?: number | undefined } {
  if (typeof info === "string") return { kind: info };
  const [kind, detail] = Object.entries(fieldsOf(info) ?? {})[0] ?? ["other", undefined];
  return { kind, status: numberOf(fieldsOf(detail)?.httpStatusCode) };
}

/** The body of a refusal, which Codex passes on as its message. */
function bodyIn(message: string): string | undefined {
  const from = message.indexOf("{");
  if (from < 0) return undefined;
  const text = message.slice(from, message.lastIndexOf("}") + 1);
  return isFields(jsonOf(text)) ? text : undefined;
}

const statusIn = (message: string): number | undefined => {
  const [, status] = /\b(?:status|HTTP)\b\D{0,8}\b([45]\d\d)\b/i.exec(message) ?? [];
  return status === undefined ? undefined : Number(status);
};
