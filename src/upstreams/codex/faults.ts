import { fieldsOf, filledText, numberOf } from "../../dialects/shared/loose.ts";
import { Fault, type FaultCode, type FaultDetail } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { upstreamFaultText, faultWords } from "../../dialects/errors/upstream-error.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import { type Failing, readError, httpFailure, shown, whoIs } from "../http/fault.ts";
import type { Failure } from "../retry.ts";
import { OVERLOADED } from "./rpc.ts";
import { OLDEST_VERSION } from "./home.ts";

export type CodexContext = Failing & {
  readonly home: string;
  /** Instructions to sign in; undefined with a key or another address. */
  readonly signIn?: string | undefined;
};

/** The fault, the deed of the upstream (after its name), and OpenAI's code if it has one. */
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
  ["unauthorized", ["upstream.auth", "was denied access"]],
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

/** The beginning of Codex's own errors; errors of its model have the model's text. */
const OWN_ERROR = /^(?:fatal error|internal error)/i;

/** The fault of a turn that failed, from the `error` of its `turn/completed`. */
function turnFault(error: Fields | undefined, codex: CodexContext): Fault {
  if (error === undefined)
    return new Fault(
      "upstream.cut",
      `Upstream \`${codex.name}\` ended the turn before its answer was complete; send the request again.`,
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
    return httpFailure(codex, { status: known, headers: {}, body: body ?? message, now: 0 }).fault;
  return faultOfKind(isCut ? "responseStreamDisconnected" : kind, body ?? message, codex);
}

const wrongSignIn = (signIn: string): Fault =>
  new Fault("upstream.auth", `Codex's sign-in was not accepted. ${signIn}`);

/** Removes the status and the address that Codex adds for its users. Clients must not see the address. */
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
  return new Fault(code, upstreamFaultText(whoIs(codex), { did, remedy }, text), {
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

/** The status at the beginning of Codex's message; the text of a refusal may contain others. */
const statusIn = (message: string): number | undefined => {
  const [, status] =
    /^(?:unexpected status|exceeded retry limit, last status:) ([45]\d\d)\b/.exec(message) ?? [];
  return status === undefined ? undefined : Number(status);
};

/** The reason why Codex did not do something; `failures` has the meaning of each. */
export type Cause = {
  [Type in keyof typeof failures]: { readonly type: Type } & CauseFields<(typeof failures)[Type]>;
}[keyof typeof failures];

type CauseFields<Row> = Row extends (codex: CodexContext, cause: infer Given) => Failure
  ? Readonly<Given>
  : never;

/** The only error that code in this folder throws or rejects with. */
export class CodexError extends Error {
  override readonly name = "CodexError";
  readonly reason: Cause;

  constructor(reason: Cause, cause?: unknown) {
    super(reason.type, { cause });
    this.reason = reason;
  }
}

/** The failure of a turn that has had no event yet. */
export function failureOf(error: unknown, codex: CodexContext): Failure {
  if (!(error instanceof CodexError)) {
    const message = "The gateway could not send the request to Codex; its log has the reason.";
    return { fault: new Fault("gateway.internal", message, {}, error), again: false };
  }
  const describe = failures[error.reason.type] as (codex: CodexContext, cause: Cause) => Failure;
  const failure = describe(codex, error.reason);
  return { ...failure, fault: shown(codex, failure.fault) };
}

const failed =
  (again: boolean) =>
  (code: FaultCode, message: string, detail: FaultDetail = {}): Failure => ({
    fault: new Fault(code, message, detail),
    again,
  });
/** The same request would fail again. */
const final = failed(false);
const passing = failed(true);

/** Codes of model failures that may pass without a change. */
const passingCodes: ReadonlySet<FaultCode> = new Set([
  "upstream.cut",
  "upstream.failed",
  "upstream.overloaded",
  "upstream.unreachable",
]);

const failures = {
  // The process cannot be started.
  "no-command": ({ name }: CodexContext, { command }: { command: string }) =>
    final(
      "upstream.unreachable",
      `Upstream \`${name}\` needs Codex, and there is no \`${command}\` to run. Install it (npm install -g @openai/codex), or name it in \`upstreams.${name}.command\`.`,
    ),
  "foreign-home": ({ name, home }: CodexContext) =>
    final(
      "upstream.unreachable",
      `Upstream \`${name}\` would have to replace ${home}/config.toml, which Patchbay did not write. Give \`upstreams.${name}.home\` a folder of its own; a sign-in in ~/.codex is found from there.`,
    ),
  "unwritable-home": ({ name, home }: CodexContext, { code }: { code: string }) =>
    final(
      "upstream.unreachable",
      `Upstream \`${name}\` cannot write to its home ${home} (${code}). Make that a folder it may write to, or name another in \`upstreams.${name}.home\`.`,
    ),
  "too-old": ({ name }: CodexContext, { version }: { version: string }) =>
    final(
      "upstream.unreachable",
      `Upstream \`${name}\` runs Codex ${version || "of an unknown version"}; it must be ${OLDEST_VERSION.join(".")} or newer. Update it: npm install -g @openai/codex.`,
    ),
  "signed-out": ({ signIn }: CodexContext) =>
    final("upstream.auth", `Codex is not signed in. ${signIn ?? ""}`.trim()),
  "not-started": (
    { name, home }: CodexContext,
    { file, reason }: { file: string; reason: string },
  ) =>
    passing(
      "upstream.unreachable",
      `The Codex process of upstream \`${name}\` did not start (${reason}); run \`CODEX_HOME=${home} ${file} app-server\` by hand to see why.`,
    ),
  unstartable: ({ name }: CodexContext, { why }: { why: string }) =>
    passing("upstream.unreachable", `Upstream \`${name}\` could not start Codex: ${why}.`),
  closing: () => final("gateway.stopping", "The upstream is being closed; try again."),
  // Another process is started at once, so there is nothing to wait for.
  exited: ({ name }: CodexContext, { reason }: { reason: string }) => ({
    ...passing(
      "upstream.cut",
      `The Codex process of upstream \`${name}\` ended (${reason}) before the answer was complete; send the request again.`,
    ),
    after: 0,
  }),
  "no-reply": (_: CodexContext, { method, ms }: { method: string; ms: number }) =>
    final(
      "upstream.headers_timeout",
      `The upstream did not answer \`${method}\` within ${Math.round(ms / 1000)} s; try again.`,
    ),
  rpc: (
    codex: CodexContext,
    { code, message, data }: { code: number; message: string; data?: Fields | undefined },
  ) => {
    const { name } = codex;
    if (code === OVERLOADED)
      return final("upstream.overloaded", `Upstream \`${name}\` is overloaded; try again.`, {
        retryAfter: "1",
      });
    if (data?.input_error_code === "input_too_large")
      return final(
        "upstream.too_large",
        `Upstream \`${name}\` does not accept a text this long; send less.`,
      );
    const error = { message: message.slice(0, 1000), codexErrorInfo: "badRequest" };
    return { fault: turnFault(error, codex), again: false };
  },
  "queue-full": ({ name }: CodexContext) =>
    final(
      "upstream.overloaded",
      `Upstream \`${name}\` runs as many turns as it may, and its queue is full; try again, or raise \`processes\`, \`seats\` or \`queue\`.`,
      { retryAfter: "5" },
    ),
  "turn-failed": (codex: CodexContext, { error }: { error: Fields | undefined }) => {
    const fault = turnFault(error, codex);
    // If the failure has a time for the next attempt, the client receives that time.
    const again = passingCodes.has(fault.code) && fault.detail.retryAfter === undefined;
    return { fault, again };
  },
  offline: (
    { name }: CodexContext,
    { error, started }: { error: Fields | undefined; started: boolean },
  ) => {
    const details = filledText(error?.additionalDetails)?.slice(0, 2000);
    const did = started ? "lost its model in mid-answer" : "cannot reach its model";
    return passing(
      started ? "upstream.cut" : "upstream.unreachable",
      `Upstream \`${name}\` ${did}${details === undefined ? "" : ` (${details})`}. Check its \`base_url\` and the network.`,
    );
  },
  "no-content": ({ name }: CodexContext) =>
    final(
      "upstream.empty",
      `Upstream \`${name}\` returned no content: the model's answer was empty, or the model refused, which Codex does not report. Try again, or change the request.`,
    ),
  silent: ({ name }: CodexContext, { ms }: { ms: number }) =>
    final(
      "upstream.idle_timeout",
      `Upstream \`${name}\` sent nothing for ${Math.round(ms / 1000)} s. Try again, or raise \`timeouts.idle\`.`,
    ),
  "slow-client": ({ name }: CodexContext) =>
    final(
      "client.slow",
      `The client read the answer so slowly that the buffer is full, and upstream \`${name}\` cannot be slowed down; read faster, or request a shorter answer.`,
    ),
};
