/** What is left of something that is limited by the minute. */
export type RateLimit = {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until all of it is there again. */
  readonly resetMs: number;
};

/** What a tenant has left; none of what is not limited. */
export type RateLimits = {
  readonly requests?: RateLimit | undefined;
  readonly tokens?: RateLimit | undefined;
};
