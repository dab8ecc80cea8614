/** Which program asks, and in which of its runs: read from headers that agents send. */

/** Programs by what their `user-agent` holds; the first that fits counts. Closed, so that it may be a label. */
const programs = [
  ["codex", /^codex[_/-]/i],
  ["claude", /^claude-(?:cli|code)\b/i],
  ["opencode", /\bopencode\b/i],
  ["qwen", /^qwen-?code\b/i],
  ["gemini", /^gemini-?cli\b/i],
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
  ["curl", /^curl\//i],
] as const satisfies readonly (readonly [string, RegExp])[];

export type AgentName = (typeof programs)[number][0];

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Programs that ask say the same with every request, and are few. */
const known = new Map<string, AgentName | undefined>();
const MOST_KNOWN = 256;
const LONGEST = 256;

/** The program that sent a request; undefined if it is none of those we know. */
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

/** What agents call one run of theirs. The first that is there counts. */
const runHeaders = [
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "x-session-id",
  "x-session-affinity",
  "thread-id",
];

/** The id that an agent gives its run, as it sent it: it is the client's word, and not to be told. */
export function runIdOf(headers: Headers): string | undefined {
  for (const name of runHeaders) {
    const value = headers[name];
    if (typeof value === "string" && value !== "") return value.slice(0, LONGEST);
  }
  return undefined;
}
