/** The client's program and its run, read from headers that agents send. */

/** Programs by a pattern of their `user-agent`; the first that matches counts. */
const programs = [
  ["codex", /^codex[_/-]/i],
  ["claude", /^claude-(?:cli|code)\b/i],
  ["opencode", /\bopencode\b/i],
  ["qwen", /^qwen-?code\b/i],
  ["gemini", /^gemini-?cli\b|\bproxy_client=geminicli\b/i],
  ["cline", /\bcline\b/i],
  ["roo", /\broo-?code\b/i],
  ["kilo", /\bkilo-?code\b/i],
  ["continue", /\bcontinue\b/i],
  ["aider", /\baider\b/i],
  ["goose", /\bgoose\b/i],
  ["crush", /\bcrush\b/i],
  ["copilot", /\bcopilot\b/i],
  ["cursor", /\bcursor\b/i],
  ["zed", /^zed\//i],
  ["litellm", /\blitellm\b/i],
  ["langchain", /\blangchain/i],
  ["ai-sdk", /\bai-sdk\//i],
  ["anthropic-sdk", /\banthropic\//i],
  ["openai-sdk", /\bopenai\//i],
  ["google-sdk", /\bgoogle-genai-sdk\//i],
  ["curl", /^curl\//i],
] as const satisfies readonly (readonly [string, RegExp])[];

export type AgentName = (typeof programs)[number][0];

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Programs by header: a client sends the same one with each request, and they are few. */
const known = new Map<string, AgentName | undefined>();
const MOST_KNOWN = 256;
const LONGEST = 256;

export function agentOf(headers: Headers): AgentName | undefined {
  const text = headers["user-agent"];
  if (typeof text !== "string" || text === "") return undefined;
  if (known.has(text)) return known.get(text);
  const start = text.slice(0, LONGEST);
  const found = programs.find(([, pattern]) => pattern.test(start))?.[0];
  if (text.length <= LONGEST) {
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(text, found);
  }
  return found;
}

/** Headers with the id of an agent's run; the first that is present counts. */
const runHeaders = [
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "x-session-id",
  "x-session-affinity",
  "thread-id",
];

/** The id of an agent's run as the client sent it. It may hold content, so only its digest is shown. */
export function runIdOf(headers: Headers): string | undefined {
  for (const name of runHeaders) {
    const value = headers[name];
    if (typeof value === "string" && value !== "") return value.slice(0, LONGEST);
  }
  return undefined;
}
