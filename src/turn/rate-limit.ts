/** The rest of a limit per minute. */
export type RateLimit = {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until the whole limit is available again. */
  readonly resetMs: number;
};

/** The rest of a tenant's limits; undefined if there is no limit. */
export type RateLimits = {
  readonly requests?: RateLimit | undefined;
  readonly tokens?: RateLimit | undefined;
};
