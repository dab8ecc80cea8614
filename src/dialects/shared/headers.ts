import type { RateLimits } from "../../turn/rate-limit.ts";

/** The rest of a tenant's limits, in the headers that clients of the OpenAI API read. */
export function rateLimitHeaders({ requests, tokens }: RateLimits): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [kind, state] of Object.entries({ requests, tokens })) {
    if (state === undefined) continue;
    headers[`x-ratelimit-limit-${kind}`] = String(state.limit);
    headers[`x-ratelimit-remaining-${kind}`] = String(state.remaining);
    headers[`x-ratelimit-reset-${kind}`] = duration(state.resetMs);
  }
  return headers;
}

/** As Go writes durations, which is how that API does: `6m0s`, `1.5s`, `20ms`. */
function duration(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = Math.ceil((ms % 60_000) / 10) / 100;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}

/** A key as most HTTP APIs take it. */
export const bearer = (apiKey: string | undefined): Readonly<Record<string, string>> =>
  apiKey ? { authorization: `Bearer ${apiKey}` } : {};
