import type { Profile } from "../../turn/profile.ts";
import type { Turn } from "../../turn/turn.ts";
import { askFolded } from "./ask.ts";
import { tokensIn, toolBytes } from "./bytes.ts";
import { foldTools } from "./fold.ts";
import { restoreLog } from "./log.ts";
import { strategyFor } from "./needs-folding.ts";
import type { DisclosureSettings } from "./settings.ts";

/** How much of a request its tools are, each declared and folded. */
export type ToolSize = {
  /** How they are folded for this upstream; null: they are sent as they are. */
  readonly strategy: string | null;
  /** The sections they are folded into, or would be. */
  readonly sections: number;
  readonly bytes: { readonly eager: number; readonly folded: number };
  /** At four bytes a token. */
  readonly tokens: { readonly eager: number; readonly folded: number };
};

/** Measures the tools of a request for an upstream; folded as they are or, where they are not, as they would be. */
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
