import { nearest } from "../../../diagnostics/nearest.ts";
import { Fault } from "../../../turn/fault.ts";
import type { Agent } from "./agent.ts";
import { aider, cline, continueCli, crush, goose, openCode, qwenCode } from "./chat-agents.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";

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
];

export function findAgent(name: string): Agent {
  const word = name.toLowerCase();
  const found = agents.find((agent) => agent.name === word || agent.commands.includes(word));
  if (found !== undefined) return found;
  const names = agents.map((agent) => agent.name);
  const near = nearest(word, names);
  const hint = near === undefined ? "" : ` Did you mean \`${near}\`?`;
  throw new Fault(
    "request.invalid",
    `No agent is called \`${name}\`; there are ${names.join(", ")}.${hint}`,
  );
}
