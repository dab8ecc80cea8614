/** The reason of a failed request to an upstream, for the operator. */

import type { Fault } from "./fault.ts";

/** A reason holds no secrets. The message may quote the request; code and type are single words. */
export type FailureReason = {
  /** The upstream's own code and type of the error. */
  readonly code?: string | undefined;
  readonly type?: string | undefined;
  /** The event, the upstream's own sentence and the remedy. */
  readonly message?: string | undefined;
};

/** The most characters of an upstream's own sentence. */
const LONGEST = 300;

/** The reason of a fault. The sentence of the upstream in its message is cut to 300 characters. */
export function reasonOf({ message, detail: { said = {} } }: Fault): FailureReason {
  const { message: sentence = "", code, type } = said;
  const isLong = sentence.length > LONGEST;
  const cut = isLong ? message.replace(sentence, `${sentence.slice(0, LONGEST)}…`) : message;
  return { code: wordIn(code), type: wordIn(type), message: withoutKeys(cut) };
}

/** The part of a reason that logs may hold: a sentence may quote the request. */
export const wordsOnly = ({ code, type }: FailureReason): FailureReason | undefined =>
  code === undefined && type === undefined ? undefined : { code, type };

/** The words to show after a fault, such as `insufficient_quota, requests`; may be empty. */
export const reasonWords = ({ code, type }: FailureReason = {}): string =>
  [...new Set([code, type])].filter((word) => word !== undefined).join(", ");

/** The text if it is a single word: some upstreams send whole sentences as a code. */
const wordIn = (text: string | undefined): string | undefined =>
  text !== undefined && /^[\w.:/-]{1,80}$/.test(text) && withoutKeys(text) === text
    ? text
    : undefined;

/** Patterns of the keys of well-known services, by their prefixes. Stars match keys whose middle the service has hidden. */
export const keyShapes: readonly RegExp[] = [
  /\b(?:sk|rk|pk)-[A-Za-z0-9_*-]{16,}/g,
  /\b(?:gsk|hf|r8|xai|npm|glpat|dop_v1|tvly|pplx|fw|nvapi|csk|sess)[-_][A-Za-z0-9_-]{16,}/g,
  /\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}/g,
  // The look-ahead requires the dots first, so that no run of letters is searched twice.
  /(?<![\w-])(?=[\w-]+\.[\w-]{8,}\.)[\w-]*\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  /\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{12,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  // The user info of an address.
  /(?<=\b[a-z][a-z\d+.-]*:\/\/)[^\s/@"'<>]+(?=@)/gi,
  // Keys in the query of an address.
  /(?<=[?&](?:[\w.-]*(?:key|token|secret|sig|signature|password|code)|auth)=)[^&\s"'<>#]+/gi,
];

const withoutKeys = (text: string): string =>
  keyShapes.reduce((safe, shape) => safe.replaceAll(shape, "[redacted]"), text);
