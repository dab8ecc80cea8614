import {
  CONTEXT_LENGTH,
  faultOfError,
  upstreamFaultText,
  faultWords,
  isTooLong,
  keptStatus,
  stopped,
  type FaultWords,
} from "../../dialects/errors/upstream-error.ts";
import { type ErrorWords, errorWords, shortened } from "../../dialects/errors/error-words.ts";
import { faults } from "../../turn/fault-table.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { Fault, type FaultCode, type FaultDetail } from "../../turn/fault.ts";
import { jsonOf } from "../../json/json.ts";
import { type Failure, type Headers, headerValue, retryAfterOf } from "../retry.ts";
import { formsOf } from "./secrets.ts";

const LONGEST_TEXT = 300;

/** Reads the body of a refusal of any shape. */
export function readError(body: string): ErrorWords {
  // Some wrap even their refusals as the frame of a stream.
  const bare = body.replace(/^\s*(?:event:[^\n]*\n)?data:/, "").trim();
  const error = errorWords(jsonOf(bare));
  // A body of unknown form is itself the reason.
  return error?.message === undefined ? { ...error, message: plainText(bare) } : error;
}

function plainText(body: string): string | undefined {
  const text = body.slice(0, 8_000);
  const title = /<title[^>]*>([^<]*)</i.exec(text)?.[1];
  const bare = title ?? text.replaceAll(/<(script|style)[\s\S]*?<\/\1>|<[^>]*>/gi, " ");
  return shortened(bare, LONGEST_TEXT) || undefined;
}

/** An upstream that failed, as its errors name it. */
export type Failing = {
  /** As configured. */
  readonly name: string;
  readonly origin: string;
  /** No message may contain them. */
  readonly secrets: readonly string[];
};

export const whoIs = ({ name }: Failing): string => `Upstream \`${name}\``;

type Answered = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  readonly now: number;
};

const elsewhere: FaultWords = {
  did: "redirected the request",
  remedy: "Check its `base_url`: it must be the address that answers.",
};

/** The failure that a response without a status of success reports. */
export function httpFailure(failing: Failing, answered: Answered): Failure {
  const { status, headers } = answered;
  const isError = status >= 400;
  // The body of a redirect only repeats the `location`.
  const error: ErrorWords = isError ? safeError(failing, answered.body) : {};
  const code = isError ? faultOfError(status, error) : "upstream.failed";
  const { did, remedy } = isError ? faultWords[code] : elsewhere;
  const after = retryAfterOf(headers, answered.now) ?? error.waitMs;
  const place = placeOf(headerValue(headers.location));
  const reason = error.message ?? (isError || place === "" ? "" : `to ${place}`);
  const words = { did: `${did} (${status})`, remedy };
  const advised = headerValue(headers["x-should-retry"]);
  const fault = new Fault(code, upstreamFaultText(whoIs(failing), words, reason), {
    param: error.param,
    upstreamCode: upstreamCodeOf(error, code),
    said: { message: error.message, code: error.code, type: error.type },
    status: keptStatus(code, status),
    retry: isAdvice(advised) ? advised === "true" : undefined,
    retryAfter: after === undefined ? undefined : String(Math.ceil(after / 1_000)),
  });
  const isPassing = (status === 429 || status >= 500) && code !== "upstream.quota";
  const again = isPassing && advised !== "false";
  return { fault: shown(failing, fault), again, after };
}

/** An address without its user, query and fragment, which may hold secrets of others. */
const placeOf = (location: string): string =>
  location.replace(/[?#].*$/s, "").replace(/^([a-z][a-z\d+.-]*:)?\/\/[^/]*@/i, "$1//");

function upstreamCodeOf({ message, code, type }: ErrorWords, fault: FaultCode): string | undefined {
  if (fault === "upstream.refused" && isTooLong(message)) return CONTEXT_LENGTH;
  // The type of all errors with this fault adds nothing.
  return code ?? (type === faults[fault].type ? undefined : type);
}

const isAdvice = (header: string): boolean => header === "true" || header === "false";

/** A fault of an upstream; `problem` continues the sentence that its name begins. */
export const upstreamFault = (
  code: FaultCode,
  failing: Failing,
  problem: string,
  detail?: FaultDetail,
): Fault => new Fault(code, `${whoIs(failing)} ${problem}`, detail);

/** The fault code of a broken connection, whether another attempt may succeed, and the message. */
type Break = readonly [
  code: FaultCode,
  again: boolean,
  message: (failing: Failing, cause: string) => string,
];

const stopping: Break = [
  "gateway.stopping",
  false,
  (failing) => `${whoIs(failing)} is being closed; try again.`,
];
const connectTimeout: Break = [
  "upstream.connect_timeout",
  true,
  (failing) =>
    `${whoIs(failing)} at ${failing.origin} did not accept a connection in time. Check its \`base_url\`, or raise \`timeouts.connect\`.`,
];
const notHttp: Break = [
  "upstream.malformed",
  false,
  ({ name, origin }) =>
    `The server at ${origin} does not send a valid HTTP response. Check the \`base_url\` of upstream \`${name}\`.`,
];
const unreachableFor = (again: boolean): Break => [
  "upstream.unreachable",
  again,
  (failing, cause) =>
    `${whoIs(failing)} at ${failing.origin} cannot be reached: ${reasonOf(cause)} (${cause}). Check its \`base_url\`, and that it runs.`,
];
const cut: Break = [
  "upstream.cut",
  true,
  (failing) => `${whoIs(failing)} closed the connection before the answer was complete; try again.`,
];
/** The announced length of the body, or of a chunk, is not its length. */
const garbled: Break = [
  "upstream.malformed",
  true,
  (failing) =>
    `${whoIs(failing)} sent a broken answer: its \`content-length\`, or the length of a chunk, is wrong. Try again, or check the server at ${failing.origin}.`,
];
/** This machine lacks a resource, so that another upstream would fail too. */
const exhausted: Break = [
  "gateway.exhausted",
  false,
  (_, cause) =>
    `The gateway cannot open another connection: ${reasonOf(cause)} (${cause}). Try again in a moment, and give its process a higher limit.`,
];

const PARSER = "HTTPParserError";
const UNASKED = "unasked";
/** Breaks with the same meaning before and after the answer has begun. */
const breaks: Readonly<Record<string, Break>> = {
  [UNASKED]: [
    "upstream.malformed",
    false,
    (failing) =>
      `${whoIs(failing)} sent an interim HTTP status that the gateway does not support, such as \`100 Continue\`. Switch interim statuses off at the upstream, or at the proxy before it.`,
  ],
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: garbled,
  UND_ERR_CLOSED: stopping,
  UND_ERR_DESTROYED: stopping,
  EMFILE: exhausted,
  ENFILE: exhausted,
  ENOBUFS: exhausted,
  ENOMEM: exhausted,
  UND_ERR_HEADERS_TIMEOUT: [
    "upstream.headers_timeout",
    false,
    (failing) =>
      `${whoIs(failing)} took the request and did not answer in time. Try again, or raise its \`timeouts.headers\`.`,
  ],
  UND_ERR_BODY_TIMEOUT: [
    "upstream.idle_timeout",
    false,
    (failing) =>
      `${whoIs(failing)} fell silent in mid-answer. Try again, or raise its \`timeouts.idle\`.`,
  ],
};
/** Breaks before the answer has begun. */
const earlyBreaks: Readonly<Record<string, Break>> = {
  UND_ERR_CONNECT_TIMEOUT: connectTimeout,
  ETIMEDOUT: connectTimeout,
  [PARSER]: notHttp,
  UND_ERR_HEADERS_OVERFLOW: notHttp,
  UND_ERR_INVALID_ARG: unreachableFor(false),
};
const unreachable = unreachableFor(true);

/** The failure of a connection that broke; `started`: after the answer had begun. */
export function broken(failing: Failing, error: Error, started: boolean): Failure {
  if (error instanceof Fault) return { fault: error, again: error.detail.retry === true };
  const { name } = failing;
  const cause = causeOf(error);
  if (cause === undefined) {
    const message = `The answer of upstream \`${name}\` could not be handled; the gateway's log has the reason.`;
    return { fault: new Fault("gateway.internal", message, {}, error), again: false };
  }
  const later = cause === PARSER ? garbled : cut;
  const [code, again, message] =
    breaks[cause] ?? (started ? later : (earlyBreaks[cause] ?? unreachable));
  // A server that sends such a status will send it again.
  const retry = cause === UNASKED ? false : undefined;
  return { fault: new Fault(code, message(failing, cause), { cause, retry }, error), again };
}

/** The transport's name of an error; undefined for an error of the gateway. */
function causeOf(error: Error): string | undefined {
  if (error.name === PARSER) return PARSER;
  // undici passes such an answer to no handler, and has no code for it.
  if (/^bad (?:response|upgrade)$/.test(error.message)) return UNASKED;
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** A success whose body is not an answer. */
export const badAnswer = (failing: Failing, problem: string, detail?: FaultDetail): Failure => ({
  fault: upstreamFault("upstream.malformed", failing, problem, detail),
  again: false,
});

export const tooLong = (longest: number): string =>
  `sent an answer of more than ${longest} characters. Ask for less, or for a stream.`;

/** A text that is neither a stream nor JSON. It may give the reason. */
export function noAnswer(failing: Failing, body: string): Failure {
  const message = readError(redact(failing, body)).message ?? "";
  const problem = `answered with a text that is neither a stream nor JSON: ${stopped(message)} Check its \`base_url\` and \`dialect\`.`;
  const { fault } = badAnswer(failing, problem, { said: { message } });
  return { fault: shown(failing, fault), again: false };
}

export const noConnection = ({ name }: Failing, waitedMs: number): Failure => ({
  fault: new Fault(
    "upstream.busy",
    `All connections to upstream \`${name}\` were in use for ${waitedMs} ms. Try again, or raise its \`connections\`.`,
    { retryAfter: "1" },
  ),
  again: false,
});

/** The error in the body of a refusal, without secrets. They are removed before the text is cut, which could leave a part of one. */
export const safeError = (failing: Failing, body: string): ErrorWords =>
  readError(redact(failing, body));

const formsOfAll = memoizeByIdentity((secrets: readonly string[]): readonly string[] =>
  secrets.flatMap((secret) => [secret, ...formsOf(secret)]).toSorted((a, b) => b.length - a.length),
);

/** Some upstreams echo the key that they reject, or its header. */
function redact({ secrets }: Failing, text: string): string {
  let safe = text;
  for (const form of formsOfAll(secrets)) safe = safe.replaceAll(form, "[redacted]");
  return secrets.reduce(withoutBeginning, safe);
}

/** A text that the upstream has cut may end with the beginning of a secret. */
function withoutBeginning(text: string, secret: string): string {
  let safe = text;
  for (let length = secret.length - 1; length > 2 && safe.includes("..."); length--)
    safe = safe.replaceAll(`${secret.slice(0, length)}...`, "[redacted]...");
  return safe;
}

/** The same fault without secrets. */
export function shown(failing: Failing, fault: Fault): Fault {
  const { message, detail } = fault;
  const { param, upstreamCode, said = {} } = detail;
  const safe = (text: string | undefined) => text && redact(failing, text);
  const texts = [message, param, upstreamCode, said.message, said.code, said.type];
  if (texts.every((text) => safe(text) === text)) return fault;
  return new Fault(fault.code, redact(failing, message), {
    ...detail,
    param: safe(param),
    upstreamCode: safe(upstreamCode),
    said: { message: safe(said.message), code: safe(said.code), type: safe(said.type) },
  });
}

const reasons: readonly (readonly [RegExp, string])[] = [
  [/^E[MN]FILE$/, "it has reached its limit of open files and connections"],
  [/^(ENOBUFS|ENOMEM)$/, "the system has no memory left"],
  [/^ECONNREFUSED$/, "nothing listens there"],
  [/^(ENOTFOUND|EAI_\w+)$/, "its host name cannot be resolved"],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, "it closed the connection before it answered"],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, "no network route leads to it"],
  [/^UND_ERR_(ABORTED|PRX_\w+)$/, "the proxy refused the connection"],
  [/CERT|SIGNATURE|ALTNAME/, "its certificate is not trusted"],
  [/SSL|TLS|EPROTO/, "it does not speak TLS"],
  [/INVALID_ARG/, "the request could not be written; a header or the path has a bad character"],
];
const reasonOf = (code: string): string =>
  reasons.find(([pattern]) => pattern.test(code))?.[1] ?? "the connection failed";
