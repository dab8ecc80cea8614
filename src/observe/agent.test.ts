import { expect, it } from "vitest";
import { agentOf, runIdOf } from "./agent.ts";

it.each([
  ["codex_cli_rs/0.166.0 (Debian 13.0.0; x86_64) xterm", "codex"],
  ["codex_exec/0.166.0", "codex"],
  ["claude-cli/2.1.325 (external, cli)", "claude"],
  ["opencode/1.18.33 ai-sdk/openai-compatible/2.0.1", "opencode"],
  ["QwenCode/0.24.4 (linux; x64)", "qwen"],
  ["GeminiCLI-tui/0.61.0/m1 (linux; x64; terminal)", "gemini"],
  ["CloudCodeVSCode/0.61.0 (aidev_client; os_type=Linux; proxy_client=geminicli)", "gemini"],
  ["google-genai-sdk/2.32.0 gl-node/v26.10.0", "google-sdk"],
  ["ai-sdk/openai-compatible/2.0.1 runtime/node.js/26", "ai-sdk"],
  ["OpenAI/Python 2.1.0", "openai-sdk"],
  ["Anthropic/JS 1.8.0", "anthropic-sdk"],
  ["curl/8.14.1", "curl"],
  ["my own thing", undefined],
])("knows %s", (text, agent) => {
  expect(agentOf({ "user-agent": text })).toBe(agent);
  // Asked again, it is known by its text.
  expect(agentOf({ "user-agent": text })).toBe(agent);
});

it("reads the id of a run where agents put it", () => {
  expect(runIdOf({ "session-id": "a" })).toBe("a");
  expect(runIdOf({ "x-claude-code-session-id": "b", "session-id": "a" })).toBe("b");
  expect(runIdOf({ "x-session-affinity": "c", "x-session-id": "" })).toBe("c");
  expect(runIdOf({})).toBeUndefined();
});
