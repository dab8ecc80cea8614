import { nearest } from "../../src/diagnostics/nearest.ts";
import { Fault } from "../../src/turn/fault.ts";
import { ownOf } from "../../src/json/json.ts";
import type { Agent } from "./agent.ts";
import { aider, cline, continueCli, crush, goose, openCode, qwenCode } from "./chat-agents.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { copilot } from "./copilot.ts";

/** All agents that can be launched. */
export const agents: readonly Agent[] = [
  codex,
  claudeCode,
  openCode,
  qwenCode,
  cline,
  continueCli,
  aider,
  goose,
  crush,
  copilot,
];

/** Agents that users ask for and that cannot be pointed at a gateway, and why. */
const unreachable: Readonly<Record<string, string>> = {
  amp: "Amp cannot be launched on another model: its models are asked by its own server, and it has no setting for another address.",
  gemini:
    "Gemini CLI cannot be launched yet: it speaks Gemini's own dialect alone, and no door of this gateway does.",
};

export function findAgent(name: string): Agent {
  const word = name.toLowerCase();
  const found = agents.find((agent) => agent.name === word || agent.commands.includes(word));
  if (found !== undefined) return found;
  const reason = ownOf(unreachable, word);
  if (reason !== undefined) throw new Fault("request.invalid", reason);
  const names = agents.map((agent) => agent.name);
  const near = nearest(word, names);
  const hint = near === undefined ? "" : ` Did you mean \`${near}\`?`;
  throw new Fault(
    "request.invalid",
    `No agent is called \`${name}\`; there are ${names.join(", ")}.${hint}`,
  );
}
