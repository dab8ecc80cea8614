import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Callable, Tool, Turn } from "../../turn/turn.ts";
import { utf8Length } from "../../turn/utf8-length.ts";
import { foldTools, strategyFor } from "./fold.ts";
import { askFolded, restoreLog } from "./question.ts";
import type { DisclosureSettings } from "./settings.ts";

/** The size of a request's tools, unfolded and folded. */
export type ToolSize = {
  /** The strategy for this upstream; null: the tools are sent unfolded. */
  readonly strategy: string | null;
  /** The number of sections, also if folding is not applied. */
  readonly sections: number;
  readonly bytes: { readonly eager: number; readonly folded: number };
  readonly tokens: { readonly eager: number; readonly folded: number };
};

/** Measures the tools of a request for an upstream. The folded size is also measured if folding is not applied. */
export function toolSizeOf(
  turn: Turn,
  profile: Profile,
  settings: DisclosureSettings,
): ToolSize | undefined {
  const applied = foldTools(turn, profile, settings);
  const strategy = strategyFor(settings, profile);
  const folded = applied ?? foldTools(turn, profile, { ...settings, mode: strategy });
  const eager = folded?.eagerBytes ?? toolBytes(turn.tools);
  if (eager === 0) return undefined;
  const sent =
    folded === undefined
      ? eager
      : askFolded(turn, folded, restoreLog(turn, folded), true).sentBytes;
  return {
    strategy: applied?.strategy ?? null,
    sections: folded?.catalog.nodes.length ?? 0,
    bytes: { eager, folded: sent },
    tokens: { eager: tokensIn(eager), folded: tokensIn(sent) },
  };
}

/** Tokenizers differ; four bytes a token is usual for JSON. */
const tokensIn = (bytes: number): number => Math.ceil(bytes / 4);

/** The bytes of declarations without the fields that only one dialect has. */
export function toolBytes(tools: readonly Tool[]): number {
  let sum = 0;
  for (const tool of tools) sum += bytesOf(tool);
  return sum;
}

const bytesOf = memoizeByIdentity((tool: Tool): number => {
  const { name } = tool;
  if (tool.type === "namespace") {
    const { type, description } = tool;
    return utf8Length(JSON.stringify({ type, name, description })) + toolBytes(tool.tools);
  }
  return utf8Length(JSON.stringify(definitionOf(tool)));
});

function definitionOf(tool: Callable): unknown {
  if (tool.type === "builtin") return tool.raw;
  const { type, name, description } = tool;
  return tool.type === "function"
    ? { type, name, description, parameters: tool.schema, strict: tool.strict }
    : { type, name, description, format: tool.format };
}
