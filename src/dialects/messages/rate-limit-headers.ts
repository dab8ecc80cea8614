import type { RateLimits } from "../../turn/rate-limit.ts";

/** What is left of a tenant's limits, in the headers that clients of the Messages API read. `now`: since the epoch. */
export function rateLimitHeaders(
  { requests, tokens }: RateLimits,
  now: number,
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [kind, state] of Object.entries({ requests, tokens })) {
    if (state === undefined) continue;
    headers[`anthropic-ratelimit-${kind}-limit`] = String(state.limit);
    headers[`anthropic-ratelimit-${kind}-remaining`] = String(state.remaining);
    headers[`anthropic-ratelimit-${kind}-reset`] = new Date(now + state.resetMs).toISOString();
  }
  return headers;
}
