import type { CallRules, OutputMode } from "../../turn/rules.ts";
import type { Turn } from "../../turn/turn.ts";
import type { Config } from "../config.ts";

/** All the names that an output mode goes by. */
export const outputModes: ReadonlyMap<string, OutputMode> = new Map([
  ["openai-json", "openai-json"],
  ["openai_json", "openai-json"],
  ["openai", "openai-json"],
  ["obsidian-xml", "obsidian-xml"],
  ["obsidian_xml", "obsidian-xml"],
  ["obsidian", "obsidian-xml"],
]);

/** The rules for calls of a configuration. `stop_after_mode: first` implies `stop_after`. */
export const callRules = ({ tools }: Config): CallRules => ({
  output: tools.output,
  delimiter: tools.block_delimiter,
  textCalls: tools.text_calls,
  parallel: tools.parallel,
  dedup: tools.block_dedup,
  max: tools.block_max,
  stopAfter: tools.stop_after || tools.stop_after_mode === "first",
  stopMode: tools.stop_after_mode,
  graceMs: tools.stop_after_grace_ms,
  suppressTail: tools.suppress_tail,
});

/**
 * True if calls are sent without the text beside them: in a whole answer of a dialect whose calls
 * are fields of a message. A stream has sent its text before the calls come.
 */
export const leavesOutText = ({ output }: CallRules, { stream, traits }: Turn): boolean =>
  output === "openai-json" && !stream && traits.callsInMessage;
