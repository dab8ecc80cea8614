import { fieldsOf, filledText, numberOf } from "../../dialects/shared/loose.ts";
import { Fault, type FaultCode, type FaultDetail } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { faultText, faultWords } from "../../dialects/errors/upstream-error.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import { type Failing, readError, refusal, shown, whoIs } from "../http/fault.ts";
import type { Failure } from "../retry.ts";
import { OVERLOADED } from "./rpc.ts";
import { OLDEST_VERSION } from "./home.ts";

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
function turnFault(error: Fields | undefined, codex: CodexContext): Fault {
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

/** Why Codex did not do what was asked of it; `faults.ts` has what each means to a client. */
export type Cause =
  // The process cannot be started.
  | { readonly type: "no-command"; readonly command: string }
  | { readonly type: "foreign-home" }
  | { readonly type: "unwritable-home"; readonly code: string }
  | { readonly type: "too-old"; readonly version: string }
  | { readonly type: "signed-out" }
  | { readonly type: "not-started"; readonly file: string; readonly reason: string }
  | { readonly type: "unstartable"; readonly error: string }
  | { readonly type: "closing" }
  // The process was started.
  | { readonly type: "exited"; readonly reason: string }
  | { readonly type: "no-reply"; readonly method: string; readonly ms: number }
  | {
      readonly type: "rpc";
      readonly code: number;
      readonly message: string;
      readonly data?: Fields | undefined;
    }
  | { readonly type: "queue-full" }
  // A turn was started.
  | { readonly type: "turn-failed"; readonly error: Fields | undefined }
  | { readonly type: "offline"; readonly error: Fields | undefined; readonly started: boolean }
  | { readonly type: "no-content" }
  | { readonly type: "silent"; readonly ms: number }
  | { readonly type: "slow-client" };

/** What everything in this folder throws or rejects with. */
export class CodexError extends Error {
  override readonly name = "CodexError";
  readonly reason: Cause;

  constructor(reason: Cause, cause?: unknown) {
    super(reason.type, { cause });
    this.reason = reason;
  }
}

/** What an error means to a turn that has had no event yet. */
export function failureOf(error: unknown, codex: CodexContext): Failure {
  if (!(error instanceof CodexError))
    return {
      fault: new Fault(
        "gateway.internal",
        "The gateway failed on the way to Codex; its log has the reason.",
        {},
        error,
      ),
      again: false,
    };
  const { reason } = error;
  const describe = failures[reason.type] as (codex: CodexContext, cause: Cause) => Failure;
  const failure = describe(codex, reason);
  return { ...failure, fault: shown(codex, failure.fault) };
}

/** Sending the same request again would not help. */
const final = (code: FaultCode, message: string, detail: FaultDetail = {}): Failure => ({
  fault: new Fault(code, message, detail),
  again: false,
});
const passing = (code: FaultCode, message: string, detail: FaultDetail = {}): Failure => ({
  fault: new Fault(code, message, detail),
  again: true,
});

/** Codes of failures behind Codex that may pass by themselves. */
const passingCodes: ReadonlySet<FaultCode> = new Set([
  "upstream.cut",
  "upstream.failed",
  "upstream.overloaded",
  "upstream.unreachable",
]);

const failures: {
  readonly [Type in Cause["type"]]: (
    codex: CodexContext,
    cause: Extract<Cause, { readonly type: Type }>,
  ) => Failure;
} = {
  "no-command": ({ name }, { command }) =>
    final(
      "upstream.unreachable",
      `Upstream \`${name}\` needs Codex, and there is no \`${command}\` to run. Install it (npm install -g @openai/codex), or name it in \`upstreams.${name}.command\`.`,
    ),
  "foreign-home": ({ name, home }) =>
    final(
      "upstream.unreachable",
      `Upstream \`${name}\` would have to replace ${home}/config.toml, which Patchbay did not write. Give \`upstreams.${name}.home\` a folder of its own; a sign-in in ~/.codex is found from there.`,
    ),
  "unwritable-home": ({ name, home }, { code }) =>
    final(
      "upstream.unreachable",
      `Upstream \`${name}\` cannot write to its home ${home} (${code}). Make that a folder it may write to, or name another in \`upstreams.${name}.home\`.`,
    ),
  "too-old": ({ name }, { version }) =>
    final(
      "upstream.unreachable",
      `Upstream \`${name}\` runs Codex ${version || "of an unknown version"}; it must be ${OLDEST_VERSION.join(".")} or newer. Update it: npm install -g @openai/codex.`,
    ),
  "signed-out": ({ signIn }) =>
    final("upstream.auth", `Codex is not signed in. ${signIn ?? ""}`.trim()),
  "not-started": ({ name, home }, { file, reason }) =>
    passing(
      "upstream.unreachable",
      `The Codex process of upstream \`${name}\` did not start (${reason}); run \`CODEX_HOME=${home} ${file} app-server\` by hand to see why.`,
    ),
  unstartable: (_, { error }) =>
    passing(
      "upstream.unreachable",
      "The upstream could not start Codex; the gateway's log says why.",
      {
        log: { error },
      },
    ),
  closing: () => final("gateway.stopping", "The upstream is being closed; try again."),
  // Another process is started at once, so there is nothing to wait for.
  exited: ({ name }, { reason }) => ({
    ...passing(
      "upstream.cut",
      `The Codex process of upstream \`${name}\` ended (${reason}) before the answer was over; send the request again.`,
    ),
    after: 0,
  }),
  "no-reply": (_, { method, ms }) =>
    final(
      "upstream.headers_timeout",
      `The upstream did not answer \`${method}\` within ${Math.round(ms / 1000)} s; try again.`,
      { log: { method } },
    ),
  rpc: (codex, { code, message, data }) => {
    const { name } = codex;
    if (code === OVERLOADED)
      return final("upstream.overloaded", `Upstream \`${name}\` is overloaded; try again.`, {
        retryAfter: "1",
      });
    if (data?.input_error_code === "input_too_large")
      return final(
        "upstream.too_large",
        `Upstream \`${name}\` takes no text this long; send less.`,
      );
    const error = { message: message.slice(0, 1000), codexErrorInfo: "badRequest" };
    return { fault: turnFault(error, codex), again: false };
  },
  "queue-full": ({ name }) =>
    final(
      "upstream.overloaded",
      `Upstream \`${name}\` has as many turns as it can take, and as many waiting as may wait; try again, or raise \`processes\`, \`seats\` or \`queue\`.`,
      { retryAfter: "5" },
    ),
  "turn-failed": (codex, { error }) => {
    const fault = turnFault(error, codex);
    // A failure that says when to come back is left to the client, who is told that.
    const again = passingCodes.has(fault.code) && fault.detail.retryAfter === undefined;
    return { fault, again };
  },
  offline: ({ name }, { error, started }) => {
    const details = filledText(error?.additionalDetails)?.slice(0, 2000);
    const did = started ? "lost its model in mid-answer" : "cannot reach its model";
    return passing(
      started ? "upstream.cut" : "upstream.unreachable",
      `Upstream \`${name}\` ${did}${details === undefined ? "" : ` (${details})`}. Check its \`base_url\` and the network.`,
    );
  },
  "no-content": ({ name }) =>
    final(
      "upstream.empty",
      `Upstream \`${name}\` passed nothing on: the model said nothing, or refused, which Codex does not tell. Try again, or ask otherwise.`,
    ),
  silent: ({ name }, { ms }) =>
    final(
      "upstream.idle_timeout",
      `Upstream \`${name}\` said nothing for ${Math.round(ms / 1000)} s. Try again, or raise \`timeouts.idle\`.`,
    ),
  "slow-client": ({ name }) =>
    final(
      "client.slow",
      `The answer was read so slowly that too much of it was waiting, and upstream \`${name}\` cannot be slowed down; read faster, or ask for less.`,
    ),
};
