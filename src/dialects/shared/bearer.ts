/** A key as most HTTP APIs take it. */
export const bearer = (apiKey: string | undefined): Readonly<Record<string, string>> =>
  apiKey ? { authorization: `Bearer ${apiKey}` } : {};
