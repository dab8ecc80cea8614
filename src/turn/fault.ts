import { faults, type FaultSpec } from "./fault-table.ts";
import type { RateLimits } from "./rate-limit.ts";

export type FaultCode = keyof typeof faults;

/** The upstream's own description of its failure. It may quote the request. */
export type UpstreamWords = {
  readonly message?: string | undefined;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
};

export type FaultDetail = {
  /** The field of the request with the problem. */
  readonly param?: string | undefined;
  /** The upstream's own code, kept for the client. */
  readonly upstreamCode?: string | undefined;
  /** The upstream's description, for the operator; the message repeats its sentence. */
  readonly said?: UpstreamWords | undefined;
  readonly status?: number | undefined;
  /** True if the same request may succeed soon; overrides the table. */
  readonly retry?: boolean | undefined;
  /** Seconds that the upstream asks to wait. */
  readonly retryAfter?: string | undefined;
  /** The rest of the tenant's limits. */
  readonly rateLimits?: RateLimits | undefined;
  /** The methods that the route takes. */
  readonly allow?: string | undefined;
  /** The `content-encoding`s that the gateway reads. */
  readonly acceptEncoding?: string | undefined;
  /** The transport's name of the error, such as `ECONNREFUSED`. */
  readonly cause?: string | undefined;
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

  /** True if the client may send the same request again. */
  get mayRetry(): boolean {
    return this.detail.retry ?? faults[this.code].retry;
  }

  /** True if the next upstream of a chain may try. */
  get mayFallBack(): boolean {
    const { retry, elsewhere }: FaultSpec = faults[this.code];
    return retry || elsewhere === true;
  }

  get isFromUpstream(): boolean {
    const { fromUpstream }: FaultSpec = faults[this.code];
    return fromUpstream === true;
  }
}
