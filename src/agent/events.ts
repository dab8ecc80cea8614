import type { Decision } from "../turn/decision.ts";
import type { StopReason, Usage } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { Call } from "../turn/turn.ts";
import type { ReadSectionResult } from "./catalog.ts";
import type { OpenedBy, ToolsInjected, Visibility } from "./session.ts";
import type { Strategy } from "./strategy.ts";

/**
 * What happens while an agent runs. The last event is `run-end` or `run-fail`.
 * Events between `round-start` and `round-end` are of one question to the model.
 */
export type AgentEvent<Output = unknown> =
  | {
      readonly type: "run-start";
      readonly agent: string;
      readonly adapter: string;
      readonly strategy: Strategy;
    }
  | { readonly type: "round-start"; readonly round: number }
  | { readonly type: "text-delta" | "reasoning-delta" | "refusal-delta"; readonly text: string }
  | SectionRead
  | { readonly type: "section-opened"; readonly path: string; readonly by: OpenedBy }
  | { readonly type: "section-unknown"; readonly message: string }
  /** Something was changed in a question or an answer; told once in a run. */
  | { readonly type: "decision-made"; readonly decision: Decision }
  | ToolsInjected
  | ToolSkipped
  | ToolStarted
  | ToolEnded
  | VisibilityExpansionRequired
  | RoundEnded
  | { readonly type: "run-end"; readonly result: RunResult<Output> }
  | { readonly type: "run-fail"; readonly fault: Fault };

/** The model read a section with `read_section`, also one that was open already. */
export type SectionRead = {
  readonly type: "section-read";
  readonly callId: string;
  readonly path: string;
  readonly result: ReadSectionResult;
};

type ToolStarted = {
  readonly type: "tool-start";
  readonly callId: string;
  readonly name: string;
  /** The arguments, as JSON text. */
  readonly input: string;
};

type ToolEnded = {
  readonly type: "tool-end";
  readonly callId: string;
  readonly name: string;
  readonly success: boolean;
  /** What the model is told. */
  readonly output: string;
};

/** A tool of a section was left out because another has its name. */
type ToolSkipped = {
  readonly type: "tool-skipped";
  readonly toolName: string;
};

/** A section with tools was asked for where tools are fixed: the conversation begins anew, with all that was said. */
export type VisibilityExpansionRequired = {
  readonly type: "visibility-expansion-required";
  readonly requestedOverrides: Readonly<Record<string, Visibility>>;
  readonly reason: string;
  readonly sectionKeys: readonly string[];
};

type RoundEnded = {
  readonly type: "round-end";
  readonly round: number;
  readonly stop: StopReason;
  readonly usage: Usage | undefined;
  /** Whether the model did nothing but open sections. */
  readonly isHidden: boolean;
};

/** What a run came to. */
export type RunResult<Output = unknown> = {
  /** What the model said last. */
  readonly text: string;
  /** The same as the agent's `output` asks for it; the text itself where it asks for nothing. */
  readonly output: Output;
  /** `calls`: the caller is to run `pending` and run the agent again with `results`. */
  readonly stop: StopReason;
  readonly pending: readonly Call[];
  readonly strategy: Strategy;
  /** Of all questions to the model. */
  readonly usage: Usage;
  readonly rounds: number;
  readonly restarts: number;
};

/** A line for a log: no content of prompts, arguments or results. */
export type LogLine = {
  readonly level: "info" | "warning";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
};

/** Hears what happens to sections and tools. */
export type Observer = {
  readonly log?: ((line: LogLine) => void) | undefined;
  readonly count?: ((name: CounterName, by: number) => void) | undefined;
};

/** Everything that is counted. Those of `wink` have the names of the specification they come from. */
export const counters = {
  "wink.tools.injected": "Tools that were added to a conversation under way.",
  "wink.disclosure.dynamic": "Sections with tools that were opened without a restart.",
  "wink.disclosure.restarts": "Conversations that began anew for a section with tools.",
  "patchbay.disclosure.opened": "Sections that were opened.",
  "patchbay.disclosure.unknown": "Readings of sections that are not there.",
  "patchbay.disclosure.hidden_rounds": "Questions to a model that it answered with readings alone.",
  "patchbay.disclosure.skipped": "Tools that were left out because another had their name.",
} as const satisfies Record<string, string>;

type CounterName = keyof typeof counters;

/** Tells an observer what an event means to it. */
export function observe({ log, count }: Observer, event: AgentEvent): void {
  switch (event.type) {
    case "tools-injected": {
      const { sectionKey, toolNames } = event;
      count?.("wink.tools.injected", toolNames.length);
      count?.("wink.disclosure.dynamic", 1);
      const fields = {
        section_key: sectionKey,
        tool_count: toolNames.length,
        tool_names: toolNames,
      };
      return log?.({ level: "info", message: "Injected tools from section expansion", fields });
    }
    case "visibility-expansion-required": {
      const { sectionKeys, reason } = event;
      count?.("wink.disclosure.restarts", 1);
      const fields = { section_keys: sectionKeys, reason };
      return log?.({ level: "info", message: "Restarting with expanded sections", fields });
    }
    case "tool-skipped": {
      count?.("patchbay.disclosure.skipped", 1);
      const fields = { tool_name: event.toolName };
      return log?.({
        level: "warning",
        message: "Skipping duplicate tool during injection",
        fields,
      });
    }
    case "section-opened":
      return count?.("patchbay.disclosure.opened", 1);
    case "section-unknown":
      return count?.("patchbay.disclosure.unknown", 1);
    case "round-end":
      if (event.isHidden) count?.("patchbay.disclosure.hidden_rounds", 1);
      return;
    default:
  }
}
