import { faults, type FaultSpec } from "./fault-table.ts";
import type { RateLimits } from "./rate-limit.ts";
import type { Fields } from "./turn.ts";

export type FaultCode = keyof typeof faults;

/** What an upstream said of its failure, in its own words. They may quote the request. */
export type UpstreamWords = {
  readonly message?: string | undefined;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
};

export type FaultDetail = {
  /** The field of the request it is about. */
  readonly param?: string | undefined;
  /** The upstream's own code, kept for the client. */
  readonly upstreamCode?: string | undefined;
  /** Its words, for the operator; the message has the sentence too. */
  readonly said?: UpstreamWords | undefined;
  readonly status?: number | undefined;
  /** Whether the same request may succeed soon, where more is known than the code says. */
  readonly retry?: boolean | undefined;
  /** Seconds, as the upstream asked. */
  readonly retryAfter?: string | undefined;
  /** What the tenant has left of its limits. */
  readonly rateLimits?: RateLimits | undefined;
  /** The methods that the route does take. */
  readonly allow?: string | undefined;
  /** The `content-encoding`s that are read. */
  readonly acceptEncoding?: string | undefined;
  /** More, for the log. Never content, never secrets. */
  readonly log?: Fields | undefined;
};

/** The only error this codebase throws on purpose. Its message names the thing and the remedy. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly code: FaultCode;
  readonly detail: FaultDetail;

  constructor(code: FaultCode, message: string, detail: FaultDetail = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.detail = detail;
  }

  get status(): number {
    return this.detail.status ?? faults[this.code].status;
  }

  get type(): string {
    return faults[this.code].type;
  }

  /** Whether the client may send the same request again. */
  get mayRetry(): boolean {
    return this.detail.retry ?? faults[this.code].retry;
  }

  /** Whether the next upstream of a chain may try. */
  get mayFallBack(): boolean {
    const { retry, elsewhere }: FaultSpec = faults[this.code];
    return retry || elsewhere === true;
  }

  /** Whether it is the upstream's own word that it failed. */
  get isFromUpstream(): boolean {
    const { fromUpstream }: FaultSpec = faults[this.code];
    return fromUpstream === true;
  }
}
